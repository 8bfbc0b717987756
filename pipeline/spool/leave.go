package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"srpump/pump/broker"
)

// Name is the name of a message a program leaves for sr_spool out: messages that share an order go
// out by their numbers (sr_spool(1), NAMES).
func Name(number uint64, key, order string) string { return makeName(number, key, order) }

// Parts takes a name apart. The key is "" where the name has none that can be read; its meta has it
// then.
func Parts(name string) (number uint64, key, order string) {
	number, _ = arrivalOf(name)
	_, key, order, ok := splitName(name)
	if !ok {
		key = ""
	}
	return number, key, order
}

// Escape is a routing key or an order as a name has it.
func Escape(part string) string { return escape(part, idRoom) }

// List are the names of the messages in a directory, in their order.
func List(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot read %q: %w", dir, cause(err))
	}
	var names []string
	for _, e := range entries {
		if isMessage(e.Name()) && e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// Leave writes a message as sr_spool out reads it: when it returns the message is durable, and it was
// never to be seen in part. One of the same name is replaced.
func Leave(dir, name string, p broker.Publishing) error {
	m, err := metaOf(&p)
	if err != nil {
		return fmt.Errorf("cannot write the properties of %q: %w", name, err)
	}
	raw, err := encodeMeta(m)
	if err != nil {
		return fmt.Errorf("cannot write the properties of %q: %w", name, err)
	}
	s := &store{dir: dir}
	one := []*filed{{name: name, meta: raw, body: p.Body}}
	err = s.stage(one)
	for _, suffix := range []string{metaSuffix, ""} {
		if err == nil {
			err = s.reveal(one, suffix)
		}
	}
	if err != nil {
		for _, suffix := range []string{metaSuffix, ""} {
			_ = os.Remove(s.temp(name + suffix)) // it takes room, and nobody looks for it
		}
		return fmt.Errorf("cannot leave %q: %w", name, err)
	}
	return nil
}

// Read is a message of a directory: its body and, where it has a meta, what that says; else the key is
// that of its name.
func Read(dir, name string) (p broker.Publishing, err error) {
	_, err = os.Lstat(filepath.Join(dir, name+metaSuffix))
	box := outbox{set: &settings{dir: dir}}
	l := &letter{name: name, meta: err == nil}
	if !l.meta {
		_, p.Key, _ = Parts(name)
	} else if p, err = box.describe(l); err != nil {
		return p, fmt.Errorf("cannot read %q: %w", name, cause(err))
	}
	if p.Body, err = readUpTo(filepath.Join(dir, name), maxBody); err != nil {
		return p, fmt.Errorf("cannot read %q: %w", name, cause(err))
	}
	return p, nil
}

// Remove takes a message away, its meta last, for good. One that is gone is no error.
func Remove(dir, name string) error {
	for _, suffix := range []string{"", metaSuffix} {
		if err := os.Remove(filepath.Join(dir, name+suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot remove %q: %w", name, cause(err))
		}
	}
	return SyncDir(dir)
}
