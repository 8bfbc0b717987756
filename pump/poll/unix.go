package poll

import (
	"io/fs"
	"strconv"
	"strings"
)

// unixFields bounds the words looked at: user and group may hold blanks.
const unixFields = 16

// parseUnix reads a line of ls -l: type and permissions, links, user, perhaps group, size,
// date, name. The date tells where the name begins, one blank behind it; so names keep
// their blanks.
func parseUnix(s string, o Options) (Entry, Verdict) {
	f := fields(s, unixFields)
	if len(f) < 5 || len(f[0].text) < 10 {
		return Entry{}, Unknown
	}
	e := Entry{Size: -1}
	var ok bool
	if e.Mode, ok = permissions(f[0].text); !ok {
		return Entry{}, Unknown
	}
	e.PermKnown = true
	at, name := findDate(f, s, o, &e)
	if at < 0 {
		return Entry{}, Unknown
	}
	if n, err := strconv.ParseInt(f[at-1].text, 10, 64); err == nil && n >= 0 {
		e.Size = n
	}
	e.Name = name
	switch s[0] {
	case '-':
		return e, Listed
	case 'd':
		e.Dir, e.Size = true, -1
		return e, Listed
	case 'l':
		return linkEntry(e), Listed
	}
	return e, Other
}

// linkEntry cuts name and target of a link apart. Size and mode are those of the link and
// say nothing of the file.
func linkEntry(e Entry) Entry {
	name, target, ok := strings.Cut(e.Name, " -> ")
	if !ok || target == "" {
		target = "?"
	}
	return Entry{Name: name, Link: target, Size: -1, ModTime: e.ModTime, Precision: e.Precision}
}

// findDate finds the date of a line of ls -l, sets the time of e, and returns where in the
// fields the date begins, or -1, and the name.
func findDate(f []field, s string, o Options, e *Entry) (at int, name string) {
	for i := 2; i < len(f)-1; i++ {
		if _, err := strconv.ParseUint(strings.TrimRight(f[i-1].text, ","), 10, 63); err != nil {
			continue
		}
		w, n, ok := lsDate(f[i:], o)
		if !ok || i+n > len(f) {
			continue
		}
		start := f[i+n-1].end + 1
		if o.NameColumn > 0 && o.NameColumn < len(f) {
			start = f[o.NameColumn].start
		}
		if start >= len(s) {
			continue
		}
		e.ModTime, e.Precision = w.start, w.span
		return i, s[start:]
	}
	return -1, ""
}

// permissions reads the first column, such as drwxr-x--T or -rw-r--r--+.
func permissions(s string) (fs.FileMode, bool) {
	if !strings.ContainsRune("-dlbcpsDC", rune(s[0])) {
		return 0, false
	}
	var mode fs.FileMode
	for i, c := range s[1:10] {
		mode <<= 1
		if !strings.ContainsRune([...]string{"r-", "w-", "xsStT-"}[i%3], c) {
			return 0, false
		}
		if c != '-' && c != 'S' && c != 'T' {
			mode |= 1
		}
	}
	return mode, true
}
