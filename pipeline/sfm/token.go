package sfm

import (
	"bytes"
	"encoding/json"
	"errors"
)

// A Token is what a seed is known by, as JSON. Requesters keep tokens as text and send what that
// text is when read as JSON, so that a screen name 12345 arrives as a number; String undoes that.
type Token json.RawMessage

// Text is a token that is a text.
func Text(s string) Token {
	raw, _ := json.Marshal(s) // a string always can
	return raw
}

// String is the text that was meant: a string itself, a number in the digits it was sent with,
// true, false and null as words, and objects and arrays as JSON without blanks.
func (t Token) String() string {
	if len(t) == 0 {
		return ""
	}
	var s string
	if t[0] == '"' && json.Unmarshal(t, &s) == nil {
		return s
	}
	var b bytes.Buffer
	if json.Compact(&b, t) != nil {
		return string(t)
	}
	return b.String()
}

// Object is a token that has members, with numbers as json.Number; false for all others.
func (t Token) Object() (map[string]any, bool) {
	if len(t) == 0 || t[0] != '{' {
		return nil, false
	}
	dec := json.NewDecoder(bytes.NewReader(t))
	dec.UseNumber()
	var m map[string]any
	return m, dec.Decode(&m) == nil
}

// Empty tells that there is no token: none was sent, null, or an empty text.
func (t Token) Empty() bool { return t.String() == "" || string(t) == "null" }

// MarshalJSON is the token as it was sent.
func (t Token) MarshalJSON() ([]byte, error) {
	if len(t) == 0 {
		return []byte("null"), nil
	}
	return t, nil
}

// UnmarshalJSON takes any value.
func (t *Token) UnmarshalJSON(data []byte) error {
	if t == nil {
		return errors.New("a token to nowhere")
	}
	*t = append((*t)[:0], data...)
	return nil
}
