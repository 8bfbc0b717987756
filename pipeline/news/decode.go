package news

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// ParseJSON reads the metadata of a story. Whatever is not there is nil; members that are not known
// are kept. Numbers in strings are taken for numbers, and the reverse. The error names the
// member that cannot be what it is to be.
func ParseJSON(text []byte) (*Story, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if err := checkDepth(text); err != nil {
		return nil, err
	}
	if !json.Valid(text) {
		return nil, errors.New("it is no JSON")
	}
	members, err := readObject(text)
	if err != nil {
		return nil, err
	}
	s := &Story{}
	for _, m := range members {
		if m.Name == "fault" && m.Value[0] == '{' {
			s.Failure = &Failure{}
		}
		if err := s.take(m); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// take puts a member where it belongs.
func (s *Story) take(m Member) error {
	for _, sec := range s.sections() {
		if sec.name == m.Name {
			return sec.read(m.Value)
		}
	}
	s.Extra = append(s.Extra, m)
	return nil
}

func (sec section) read(raw json.RawMessage) error {
	if string(raw) == "null" {
		return nil
	}
	members, err := readObject(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", sec.name, err)
	}
	for _, m := range members {
		if err := sec.take(m); err != nil {
			return fmt.Errorf("%s.%s: %w", sec.name, m.Name, err)
		}
	}
	return nil
}

func (sec section) take(m Member) error {
	for _, f := range sec.fields {
		if f.name == m.Name {
			return set(f.at, m.Value)
		}
	}
	*sec.extra = append(*sec.extra, m)
	return nil
}

var errType = errors.New("the value is of another type")

// set reads a value liberally into its place.
func set(at any, raw json.RawMessage) error {
	if raw[0] == '{' || raw[0] == '[' {
		return errType
	}
	var text string
	if raw[0] == '"' {
		if err := json.Unmarshal(raw, &text); err != nil {
			return err
		}
	} else {
		text = string(raw)
	}
	null := text == "null" && raw[0] != '"'
	switch v := at.(type) {
	case **string:
		return put(v, null, text, nil)
	case **bool:
		b, err := strconv.ParseBool(text)
		return put(v, null, b, err)
	case **float64:
		f, err := strconv.ParseFloat(text, 64)
		return put(v, null, f, err)
	case **int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if f, bad := strconv.ParseFloat(text, 64); err != nil && bad == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			n, err = int64(f), nil
		}
		return put(v, null, n, err)
	}
	return errType
}

func put[T any](at **T, null bool, v T, err error) error {
	switch {
	case null:
		*at = nil
	case err != nil:
		return errType
	default:
		*at = &v
	}
	return nil
}

// readObject reads the members of an object, in order; of several with one name the last.
func readObject(raw []byte) (members []Member, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errType
	}
	at := make(map[string]int)
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return nil, errType
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		if i, ok := at[name]; ok {
			members[i].Value = value
			continue
		}
		at[name] = len(members)
		members = append(members, Member{name, value})
	}
	return members, nil
}

// checkDepth refuses what is nested deeper than any metadata is.
func checkDepth(text []byte) error {
	const most = 64
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > most {
				return fmt.Errorf("it is nested more than %d deep", most)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}
