package post

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// membersOf are the members of the object that a body is, in order: names, and values as text
// or, of objects and arrays, as they stand; each as the general decoder has it.
func membersOf(body []byte) (all []string, err error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true))
	if _, err = dec.ReadToken(); err != nil {
		return nil, err
	}
	for dec.PeekKind() != '}' {
		v, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		if v.Kind() == '"' {
			v, _ = jsontext.AppendUnquote(nil, v)
		}
		all = append(all, string(v))
	}
	if _, err = dec.ReadToken(); err != nil {
		return nil, err
	}
	if _, err = dec.ReadToken(); err != io.EOF {
		return nil, fmt.Errorf("more than one value: %v", err)
	}
	return all, nil
}

// scanned are the same, as scan03 has them.
func scanned(body []byte) (all []string, err error) {
	s := newScan03(body)
	err = s.object(func(name string) error {
		all = append(all, name)
		if k := s.kind(); k == '{' || k == '[' {
			v, err := s.composite()
			all = append(all, string(v))
			return err
		}
		v, err := s.scalar()
		all = append(all, v)
		return err
	})
	if err == nil && s.kind() != 0 {
		err = s.bad()
	}
	return all, err
}

// Whatever the body, scan03 takes it, and reads it, as the general decoder does.
func FuzzScan03(f *testing.F) {
	for _, s := range []string{`{}`, ` { "a" : "b" , "c" : -1.5e+3 , "d" : 0, "e":true,"f":false,"g":null} `, `{"a":{"b":[1,{}]},"a":[ ]}`, `{"é\u00e9\n":"\ud83d\ude00\""}`,
		`{"a":"\ud800"}`, "{\"a\":\"\xff\"}", "{\"a\":\"\n\"}", "{\"a\":\"\x7f\"}", `{"a":01}`, `{"a":-}`, `{"a":1.}`, `{"a":truex}`, `{"a":tru`, `{"a" "b"}`, `{"a":1,}`, `{,}`, `{"a":"\"}`,
		`{"a":1}{}`, `{"a":1}]`, `{1:2}`, `{"a":[1}`, `{"a":"\x"}`, `{"a":'b'}`, "{\"a\":\x00}", "{}\x00", `{`, `{"`, `{"a`, `{"a":`, `{"a":1`, `{"a":"` + strings.Repeat("x", maxShared) + `é"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if b := bytes.TrimLeft(body, " \t\r\n"); len(b) == 0 || b[0] != '{' {
			return
		}
		want, bad := membersOf(body)
		got, err := scanned(body)
		if (err == nil) != (bad == nil) || err == nil && strings.Join(got, "\x00") != strings.Join(want, "\x00") {
			t.Fatalf("%q: %q (%v), not %q (%v)", body, got, err, want, bad)
		}
	})
}
