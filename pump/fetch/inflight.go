package fetch

import (
	"fmt"
	"hash/fnv"
	"strings"
	"unicode/utf8"
)

// Inflight is how a file is called until it is complete (option inflight of
// the v02 configuration language). The zero value is the automatic form,
// .NAME.TAG.tmp: hidden, and different for every flow.
type Inflight struct{ form string }

// ParseInflight reads the option: ".suffix", "." for a leading dot, "dir/" for
// a directory beside the file. "none" and "auto" are the automatic form,
// because nothing incomplete is ever seen under the final name; so is "umask",
// by which FTP senders hid it.
func ParseInflight(s string) (Inflight, error) {
	switch {
	case s == "" || s == "none" || s == "auto" || s == "umask":
		return Inflight{}, nil
	case strings.HasSuffix(s, "/"):
		dir := strings.TrimSuffix(s, "/")
		if dir == "" || dir == "." || dir == ".." || len(dir) > maxName || strings.ContainsAny(dir, "/\x00") {
			return Inflight{}, fmt.Errorf("bad inflight %q: it must be one directory beside the file", s)
		}
		return Inflight{s}, nil
	case s[0] != '.' || strings.ContainsAny(s, "/\x00") || len(s) > 64:
		return Inflight{}, fmt.Errorf("bad inflight %q: it must be none, a dot, .suffix or dir/", s)
	}
	return Inflight{s}, nil
}

// Name is the temporary name of a file, relative to the file's directory; sub
// is the directory beside it, or empty. The tag keeps flows apart in the
// automatic form. It is the same at every try, so that a retry takes the
// place of what a killed process left.
func (i Inflight) Name(name, tag string) (sub, temp string) {
	switch {
	case i.form == "":
		return "", fit(name, tag)
	case i.form == ".":
		return "", "." + cut(name, maxName-1)
	case strings.HasSuffix(i.form, "/"):
		return strings.TrimSuffix(i.form, "/"), name
	}
	return "", cut(name, maxName-len(i.form)) + i.form
}

// sparse is the temporary name of a file that is put together of blocks: of the form of all, and
// unlike any that is fetched in one piece, for it stays while other things happen to the name.
func (i Inflight) sparse(name, tag string) (sub, temp string) {
	tag += "/blocks"
	if i.form == "" {
		return i.Name(name, tag)
	}
	return i.Name(cut(name, maxName-len(i.form)-9)+"."+digest(tag+"/"+name), tag)
}

// fit makes the automatic form, with as much of the name as there is room for.
func fit(name, tag string) string {
	const room = maxName - len(".") - len(".12345678.tmp")
	if len(name) > room {
		name, tag = clip(name, room), tag+"/"+name
	}
	return "." + name + "." + digest(tag) + ".tmp"
}

// cut shortens a name to room bytes; what it loses lives on as a digest, so
// that two long names stay two.
func cut(name string, room int) string {
	if len(name) <= room {
		return name
	}
	return clip(name, room-9) + "." + digest(name)
}

// clip takes at most n bytes and no half character.
func clip(s string, n int) string {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func digest(s string) string {
	h := fnv.New32a()
	h.Write([]byte(s))
	return fmt.Sprintf("%08x", h.Sum32())
}
