package poll

import (
	"io/fs"
	"strconv"
	"strings"
	"time"
)

// isMLSD reports whether a line begins with a fact of RFC 3659, such as "type=file;".
func isMLSD(s string) bool {
	facts, _, ok := strings.Cut(s, " ")
	return ok && strings.HasSuffix(facts, ";") && strings.Contains(facts, "=")
}

// parseMLSD reads a line of the command MLSD of FTP: facts, one blank, the name. Times are
// in UTC.
func parseMLSD(s string) (Entry, Verdict) {
	facts, name, _ := strings.Cut(s, " ")
	e := Entry{Name: name, Size: -1}
	verdict, readable := Listed, true
	for fact := range strings.SplitSeq(facts, ";") {
		key, value, _ := strings.Cut(fact, "=")
		switch strings.ToLower(key) {
		case "type":
			verdict = mlsdType(&e, strings.ToLower(value))
		case "size":
			if n, err := strconv.ParseInt(value, 10, 64); err == nil && n >= 0 {
				e.Size = n
			}
		case "modify":
			e.ModTime, e.Precision = mlsdTime(value)
		case "perm":
			readable = strings.ContainsAny(value, "rR")
		case "unix.mode":
			if n, err := strconv.ParseUint(value, 8, 32); err == nil {
				e.Mode, e.PermKnown = fs.FileMode(n).Perm(), true
			}
		}
	}
	if e.Dir || e.Link != "" {
		e.Size = -1
	} else if !readable { // to whoever logged in, whatever the bits say
		e.Mode, e.PermKnown = 0, true
	}
	return e, verdict
}

func mlsdType(e *Entry, t string) Verdict {
	switch {
	case t == "file":
		return Listed
	case t == "dir":
		e.Dir = true
		return Listed
	case strings.HasPrefix(t, "os.unix=slink"), strings.HasPrefix(t, "os.unix=symlink"):
		_, e.Link, _ = strings.Cut(t, ":")
		if e.Link == "" {
			e.Link = "?"
		}
		return Listed
	}
	return Other
}

// mlsdTime reads 20261121100000 or 20261121100000.123.
func mlsdTime(s string) (time.Time, time.Duration) {
	t, err := time.Parse("20060102150405", s)
	if err != nil || t.Year() < 1 {
		return time.Time{}, 0
	}
	if strings.Contains(s, ".") {
		return t, time.Millisecond
	}
	return t, time.Second
}
