package sfm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

// A SyntaxError is a message that cannot be read, and where.
type SyntaxError struct {
	Line, Column int // from 1; the column in bytes
	Reason       string
}

// Error is the fault with its place, such as "line 3, column 5: …".
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Reason)
}

// A MemberError is a message that is JSON and does not say what it must, or says what cannot be.
type MemberError struct {
	Member string // with its path, such as "seeds[1].token"
	Reason string
}

// Error names the member.
func (e *MemberError) Error() string { return e.Member + " " + e.Reason }

func missing(member string) error { return &MemberError{member, "is missing"} }

// decode reads a message of one JSON object. What it could read is in into even when a member
// has the wrong type.
func decode(data []byte, into any) error {
	if i := notUTF8(data); i >= 0 {
		return at(data, int64(i), "the message is not UTF-8")
	}
	var raw json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return placed(data, err)
	}
	if first := bytes.TrimLeft(raw, " \t\r\n"); first[0] != '{' {
		return at(data, int64(len(raw)-len(first)), "the message is not an object")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return placed(data, dec.Decode(into))
}

// notUTF8 is where a text first is none in UTF-8, or -1. encoding/json would put other characters there.
func notUTF8(data []byte) int {
	for i := 0; i < len(data); {
		c, size := utf8.DecodeRune(data[i:])
		if c == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// placed gives an error of encoding/json its line and column.
func placed(data []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &syntax) && strings.HasPrefix(syntax.Error(), "unexpected end"):
		return at(data, int64(len(data)), "the message is cut off")
	case errors.As(err, &syntax):
		return at(data, syntax.Offset-1, syntax.Error())
	case errors.As(err, &kind):
		return at(data, kind.Offset-1, fmt.Sprintf("%s is %s, not %s", kind.Field, article(kind.Value), wanted(kind.Type)))
	}
	return err
}

// at is an error at an offset in bytes.
func at(data []byte, offset int64, reason string) error {
	before := data[:min(max(offset, 0), int64(len(data)))]
	return &SyntaxError{1 + bytes.Count(before, []byte("\n")), len(before) - bytes.LastIndexByte(before, '\n'), reason}
}

func article(value string) string {
	switch value {
	case "array", "object":
		return "an " + value
	case "bool":
		return "a boolean"
	}
	return "a " + value
}

func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Slice:
		return "an array"
	case reflect.Bool:
		return "a boolean"
	case reflect.Struct, reflect.Map, reflect.Pointer:
		return "an object"
	}
	return "a whole number"
}
