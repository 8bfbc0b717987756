package items

import (
	"encoding/json"
	"slices"
)

// members are those of an object, in their order.
type members []member

type member struct {
	key string // with its escapes
	raw json.RawMessage
}

// membersOf are those of an object that was checked; none of any other value.
func membersOf(raw json.RawMessage) members {
	var m members
	c := &cursor{b: raw}
	if c.peek() != '{' {
		return nil
	}
	c.object(func(key []byte) { m = append(m, member{string(key), c.raw()}) })
	return m
}

// elementsOf are those of an array that was checked.
func elementsOf(raw json.RawMessage) (all []json.RawMessage) {
	c := &cursor{b: raw}
	if c.peek() != '[' {
		return nil
	}
	c.array(func() { all = append(all, c.raw()) })
	return all
}

// textOf is a string that was checked, or the digits of a number; else "".
func textOf(raw json.RawMessage) string { return (&cursor{b: raw}).text() }

func (m members) get(key string) json.RawMessage {
	for _, x := range m {
		if x.key == key {
			return x.raw
		}
	}
	return nil
}

// set replaces a member, or adds it.
func (m *members) set(key string, raw json.RawMessage) {
	i := slices.IndexFunc(*m, func(x member) bool { return x.key == key })
	if i < 0 {
		*m = append(*m, member{key, raw})
		return
	}
	(*m)[i].raw = raw
}

// merge sets all members of another object.
func (m *members) merge(raw json.RawMessage) {
	for _, x := range membersOf(raw) {
		m.set(x.key, x.raw)
	}
}

func (m members) json() json.RawMessage {
	b := []byte{'{'}
	for i, x := range m {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), x.key...), `":`...)
		b = append(b, x.raw...)
	}
	return append(b, '}')
}

// array is JSON of elements.
func array(all []json.RawMessage) json.RawMessage {
	b := []byte{'['}
	for i, raw := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, raw...)
	}
	return append(b, ']')
}
