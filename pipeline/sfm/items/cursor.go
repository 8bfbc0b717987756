package items

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
)

// maxDepth is how deep values may be nested.
const maxDepth = 1000

// A cursor walks once over JSON, checks all of it and takes out what is asked for; the values
// that are not are neither copied nor built. Documents of megabytes hold some ten fields that
// matter, which is why encoding/json, that reads each value at least twice, is not used.
//
// The first error stays, and all else then does nothing.
type cursor struct {
	b     []byte
	i     int // of the next byte
	depth int
	open  []byte // room for skip
	err   error
}

var (
	errCut  = errors.New("it is cut off")
	errDeep = errors.New("it is nested too deep")
)

// fail keeps the first error.
func (c *cursor) fail(what string) {
	if c.err != nil {
		return
	}
	if c.err = errCut; c.i < len(c.b) {
		c.err = fmt.Errorf("%q at byte %d, where %s is expected", c.b[c.i], c.i+1, what)
	}
}

// peek is the next byte that is no blank; 0 at the end and after an error.
func (c *cursor) peek() byte {
	if c.err != nil {
		return 0
	}
	for c.i < len(c.b) {
		switch ch := c.b[c.i]; ch {
		case ' ', '\n', '\r', '\t':
			c.i++
		default:
			return ch
		}
	}
	return 0
}

// take steps over one byte, which must be the next that is no blank.
func (c *cursor) take(ch byte, what string) bool {
	if c.peek() != ch {
		c.fail(what)
	}
	if c.err != nil {
		return false
	}
	c.i++
	return true
}

// enter goes one level down.
func (c *cursor) enter() bool {
	if c.depth++; c.depth > maxDepth && c.err == nil {
		c.err = errDeep
	}
	return c.err == nil
}

// object walks over the members of an object. Member is called with each key, without its quotes and with
// its escapes, and reads the value or leaves it. Any other value is passed over.
func (c *cursor) object(member func(key []byte)) {
	if c.peek() != '{' {
		c.skip()
		return
	}
	c.i++
	for first := true; c.enter() && c.more('}', first); first = false {
		key := c.key()
		if c.err != nil {
			return
		}
		c.peek()
		at := c.i
		if member(key); c.i == at {
			c.skip()
		}
		c.depth--
	}
	c.depth--
}

// array walks over the elements of an array; element reads each, or leaves it. Any other value is
// passed over.
func (c *cursor) array(element func()) {
	if c.peek() != '[' {
		c.skip()
		return
	}
	c.i++
	for first := true; c.enter() && c.more(']', first); first = false {
		c.peek()
		at := c.i
		if element(); c.i == at {
			c.skip()
		}
		c.depth--
	}
	c.depth--
}

// more tells whether an object or array goes on, and steps over the comma, or else the end.
func (c *cursor) more(end byte, first bool) bool {
	ch := c.peek()
	switch {
	case c.err != nil:
		return false
	case ch == end:
		c.i++
		return false
	case first:
		return true
	}
	return c.take(',', "a comma")
}

func (c *cursor) literal(word string) {
	if end := c.i + len(word); c.err == nil && end <= len(c.b) && string(c.b[c.i:end]) == word {
		c.i = end
		return
	}
	c.fail("a value")
}

// number passes over a number, RFC 8259 §6.
func (c *cursor) number() {
	if c.err != nil {
		return
	}
	if c.i < len(c.b) && c.b[c.i] == '-' {
		c.i++
	}
	if c.i < len(c.b) && c.b[c.i] == '0' {
		c.i++
	} else {
		c.digits()
	}
	if c.i < len(c.b) && c.b[c.i] == '.' {
		c.i++
		c.digits()
	}
	if c.i < len(c.b) && (c.b[c.i] == 'e' || c.b[c.i] == 'E') {
		c.i++
		if c.i < len(c.b) && (c.b[c.i] == '+' || c.b[c.i] == '-') {
			c.i++
		}
		c.digits()
	}
}

func (c *cursor) digits() {
	from := c.i
	for c.i < len(c.b) && c.b[c.i] >= '0' && c.b[c.i] <= '9' {
		c.i++
	}
	if c.i == from {
		c.fail("a value")
	}
}

// str is a string without its quotes, with its escapes.
func (c *cursor) str() []byte {
	if c.peek() != '"' {
		c.fail("a string")
		return nil
	}
	c.i++
	from := c.i
	for {
		c.i += plainPrefix(c.b[c.i:])
		if c.i >= len(c.b) {
			c.fail("the end of a string")
			return nil
		}
		switch c.b[c.i] {
		case '"':
			c.i++
			return c.b[from : c.i-1]
		case '\\':
			c.escape()
		default:
			c.fail("a character of a string")
		}
		if c.err != nil {
			return nil
		}
	}
}

// plainPrefix is how many bytes there are before a quote, a backslash or a control character. It
// looks at eight bytes at once, as most bytes of most answers are in strings.
func plainPrefix(b []byte) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		quote, slash := w^('"'*ones), w^('\\'*ones)
		// The lowest top bit that is set is that of the first byte which is zero, or below 0x20;
		// what borrows from it stands above.
		if hit := ((quote-ones)&^quote | (slash-ones)&^slash | (w-0x20*ones)&^w) & tops; hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for ; i < len(b); i++ {
		if ch := b[i]; ch == '"' || ch == '\\' || ch < 0x20 {
			return i
		}
	}
	return i
}

func (c *cursor) escape() {
	c.i++
	if c.i >= len(c.b) {
		c.fail("an escape")
		return
	}
	switch c.b[c.i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		c.i++
	case 'u':
		c.i++
		for range 4 {
			if c.i >= len(c.b) || !isHex(c.b[c.i]) {
				c.fail("a hexadecimal digit")
				return
			}
			c.i++
		}
	default:
		c.fail("an escape")
	}
}

func isHex(ch byte) bool {
	return ch >= '0' && ch <= '9' || ch >= 'a' && ch <= 'f' || ch >= 'A' && ch <= 'F'
}

// raw is the next value as it stands.
func (c *cursor) raw() []byte {
	c.peek()
	from := c.i
	c.skip()
	if c.err != nil {
		return nil
	}
	return c.b[from:c.i:c.i]
}

// text is the next value if it is a string, or the digits of a number; else "".
func (c *cursor) text() string {
	ch := c.peek()
	v := c.raw()
	switch {
	case len(v) == 0 || ch == '{' || ch == '[' || ch == 't' || ch == 'f' || ch == 'n':
		return ""
	case ch != '"':
		return string(v)
	}
	return unquoted(v)
}

// unquoted is the text of a string with its quotes.
func unquoted(v []byte) string {
	for _, ch := range v {
		if ch == '\\' || ch >= 0x80 {
			var s string
			_ = json.Unmarshal(v, &s) // it was checked
			return s
		}
	}
	return string(v[1 : len(v)-1])
}

// end is at the end of a document: nothing but blanks may follow.
func (c *cursor) end() error {
	if c.peek() != 0 || c.err == nil && c.i < len(c.b) {
		c.fail("the end")
	}
	return c.err
}

// whole is an object as it stands, its members walked over as by object.
func (c *cursor) whole(member func(key []byte)) []byte {
	c.peek()
	from := c.i
	c.object(member)
	if c.err != nil {
		return nil
	}
	return c.b[from:c.i:c.i]
}
