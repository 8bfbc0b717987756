package post

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// A scan03 goes through one JSON body. What is plain it reads itself, for the general decoder took
// half of the time of reading an announcement; the rest it leaves to that.
type scan03 struct {
	body   []byte
	shared string // the body; empty when it is too long to be held by what was read from it
	pos    int
}

func newScan03(body []byte) scan03 {
	s := scan03{body: body}
	if len(body) <= maxShared {
		s.shared = string(body)
	}
	return s
}

// kind passes white space and returns the first byte of what follows, that of every number being 0;
// at the end it is zero.
func (s *scan03) kind() byte {
	for ; s.pos < len(s.body); s.pos++ {
		switch c := s.body[s.pos]; c {
		case ' ', '\t', '\r', '\n':
		case '-', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			return '0'
		case 0:
			return 1 // no JSON begins so
		default:
			return c
		}
	}
	return 0
}

// take passes the byte c, which must be next but for white space.
func (s *scan03) take(c byte) error {
	if s.kind() != c {
		return s.bad()
	}
	s.pos++
	return nil
}

func (s *scan03) bad() error { return fmt.Errorf("v03 body is no JSON at byte %d", s.pos) }

// span is a part of the body as text.
func (s *scan03) span(from, to int) string {
	if s.shared == "" {
		return string(s.body[from:to])
	}
	return s.shared[from:to]
}

// scalar reads a name, or a value that is neither object nor array, as text.
func (s *scan03) scalar() (string, error) {
	switch s.kind() {
	case '"':
		return s.quoted()
	case '0':
		return s.number()
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	}
	return "", s.bad()
}

func (s *scan03) literal(word string) (string, error) {
	if !bytes.HasPrefix(s.body[s.pos:], []byte(word)) {
		return "", s.bad()
	}
	s.pos += len(word)
	return word, nil
}

// quoted reads a string. One of printable ASCII without escapes stands for itself.
func (s *scan03) quoted() (string, error) {
	from := s.pos
	plain := true
	for i := from + 1; i < len(s.body); i++ {
		switch c := s.body[i]; {
		case c == '"':
			s.pos = i + 1
			if plain {
				return s.span(from+1, i), nil
			}
			b, err := jsontext.AppendUnquote(nil, s.body[from:i+1])
			return string(b), err
		case c == '\\':
			plain = false
			i++
		case c < ' ' || c >= 0x7f:
			plain = false
		}
	}
	return "", s.bad()
}

// number reads a number, as it is written.
func (s *scan03) number() (string, error) {
	from := s.pos
	plain := s.body[from] >= '1'
	for ; s.pos < len(s.body); s.pos++ {
		switch c := s.body[s.pos]; {
		case c >= '0' && c <= '9':
			continue
		case c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-':
			plain = false
			continue
		}
		break
	}
	if !plain && !jsontext.Value(s.body[from:s.pos]).IsValid() {
		return "", s.bad()
	}
	return s.span(from, s.pos), nil
}

// composite reads an object or array nobody looks into; its bytes are those of the body.
func (s *scan03) composite() ([]byte, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(s.body[s.pos:]), jsontext.AllowDuplicateNames(true))
	v, err := dec.ReadValue()
	if err != nil {
		return nil, err
	}
	s.pos += int(dec.InputOffset())
	return v, nil
}

// skip passes a value of any kind.
func (s *scan03) skip() (err error) {
	switch s.kind() {
	case '{', '[':
		_, err = s.composite()
	default:
		_, err = s.scalar()
	}
	return err
}

// object reads an object, and gives each member to each, which reads its value. What is no object
// is skipped.
func (s *scan03) object(each func(name string) error) error {
	if s.kind() != '{' {
		return s.skip()
	}
	s.pos++
	if s.kind() == '}' {
		s.pos++
		return nil
	}
	for {
		if s.kind() != '"' {
			return s.bad()
		}
		name, err := s.quoted()
		if err == nil {
			err = s.take(':')
		}
		if err == nil {
			err = each(name)
		}
		if err != nil {
			return err
		}
		if s.kind() != ',' {
			return s.take('}')
		}
		s.pos++
	}
}
