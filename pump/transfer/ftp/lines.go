package ftp

import (
	"io/fs"
	"strconv"
	"strings"
	"time"

	"srpump/pump/transfer"
)

// parseFacts reads a line of MLSD, "fact=value;fact=value; name", RFC 3659, 7.2.
func parseFacts(line string) (transfer.Entry, bool) {
	facts, name, ok := strings.Cut(line, " ")
	if !ok || name == "" {
		return transfer.Entry{}, false
	}
	e := transfer.Entry{Name: name, Size: -1}
	for fact := range strings.SplitSeq(facts, ";") {
		key, value, _ := strings.Cut(fact, "=")
		switch strings.ToLower(key) {
		case "type":
			if ok = setType(&e, value); !ok {
				return transfer.Entry{}, false
			}
		case "size":
			e.Size = parseSize(value)
		case "modify":
			e.ModTime = parseTime(value)
		case "unix.mode":
			if mode, err := strconv.ParseUint(value, 8, 12); err == nil {
				e.Mode |= fs.FileMode(mode) & fs.ModePerm
			}
		}
	}
	return e, true
}

// setType reads the fact type; "." and ".." are no entries.
func setType(e *transfer.Entry, value string) bool {
	kind := strings.ToLower(value)
	switch {
	case kind == "cdir" || kind == "pdir":
		return false
	case kind == "file":
	case kind == "dir":
		e.Mode |= fs.ModeDir
	case strings.HasPrefix(kind, "os.unix=slink") || strings.HasPrefix(kind, "os.unix=symlink"):
		e.Mode |= fs.ModeSymlink
		if _, target, ok := strings.Cut(value, ":"); ok {
			e.Target = target
		}
	default:
		e.Mode |= fs.ModeIrregular
	}
	return true
}

// parseSize reads a number of bytes; below zero when it is none.
func parseSize(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// parseLine reads a line of LIST as Unix and as Windows servers write it.
func parseLine(line string, now time.Time) (transfer.Entry, bool) {
	line = strings.TrimSuffix(line, "\r")
	if line != "" && '0' <= line[0] && line[0] <= '9' {
		return parseDOS(line)
	}
	return parseUnix(line, now)
}

// A word of a line and where the next character is.
type word struct {
	text string
	end  int
}

// words cuts a line into at most n words.
func words(line string, n int) []word {
	var all []word
	for at := 0; len(all) < n; {
		start := at + len(line[at:]) - len(strings.TrimLeft(line[at:], " "))
		if start == len(line) {
			break
		}
		at = len(line)
		if i := strings.IndexByte(line[start:], ' '); i >= 0 {
			at = start + i
		}
		all = append(all, word{line[start:at], at})
	}
	return all
}

// parseUnix reads "-rw-r--r-- 1 user group 12 Nov 21 17:13 name", with or without
// links and group. The name begins one blank after the time and may begin with blanks itself.
func parseUnix(line string, now time.Time) (transfer.Entry, bool) {
	const most = 9 // mode links user group size month day time, and one to spare
	w := words(line, most)
	if len(w) < 5 || len(w[0].text) < 10 {
		return transfer.Entry{}, false
	}
	e := transfer.Entry{Rough: true}
	if !setMode(&e, w[0].text) {
		return transfer.Entry{}, false
	}
	for i := 2; i+2 < len(w); i++ {
		at, ok := listTime(w[i].text, w[i+1].text, w[i+2].text, now)
		size := parseSize(w[i-1].text)
		if !ok || size < 0 || w[i+2].end+1 >= len(line) {
			continue
		}
		e.Size, e.ModTime, e.Name = size, at, line[w[i+2].end+1:]
		if e.Mode&fs.ModeSymlink != 0 {
			e.Name, e.Target, _ = strings.Cut(e.Name, " -> ")
		}
		return e, true
	}
	return transfer.Entry{}, false
}

// setMode reads "drwxr-xr-x"; what follows it (+ @ .) says nothing to us.
func setMode(e *transfer.Entry, s string) bool {
	switch s[0] {
	case '-':
	case 'd':
		e.Mode = fs.ModeDir
	case 'l':
		e.Mode = fs.ModeSymlink
	case 'p', 's', 'b', 'c', 'D':
		e.Mode = fs.ModeIrregular
	default:
		return false
	}
	for i, r := range s[1:10] {
		switch {
		case r == '-' || r == 'S' || r == 'T':
		case strings.ContainsRune("rwxst", r):
			e.Mode |= 1 << (8 - i)
		default:
			return false
		}
	}
	return true
}

// listTime reads "Nov 21 17:13", of the twelve months past, and "Nov 21 2024".
func listTime(month, day, rest string, now time.Time) (time.Time, bool) {
	if !strings.Contains(rest, ":") {
		t, err := time.Parse("Jan 2 2006", month+" "+day+" "+rest)
		return t, err == nil
	}
	year := now.Year()
	t, err := time.Parse("2006 Jan 2 15:04", strconv.Itoa(year)+" "+month+" "+day+" "+rest)
	if err != nil { // February 29 of another year
		t, err = time.Parse("2006 Jan 2 15:04", strconv.Itoa(year-1)+" "+month+" "+day+" "+rest)
	}
	if err == nil && t.After(now.AddDate(0, 0, 2)) {
		t = t.AddDate(-1, 0, 0)
	}
	return t, err == nil
}

// parseDOS reads "11-21-26  05:13PM  <DIR>  name" and "2026-11-21  17:13  12 name".
func parseDOS(line string) (transfer.Entry, bool) {
	w := words(line, 3)
	if len(w) < 3 {
		return transfer.Entry{}, false
	}
	e := transfer.Entry{Rough: true, Size: -1, Name: strings.TrimLeft(line[w[2].end:], " ")}
	if w[2].text == "<DIR>" {
		e.Mode = fs.ModeDir
	} else if e.Size = parseSize(w[2].text); e.Size < 0 {
		return transfer.Entry{}, false
	}
	for _, layout := range []string{"01-02-06 03:04PM", "01-02-2006 03:04PM", "01-02-06 15:04", "01-02-2006 15:04", "2006-01-02 15:04"} {
		if t, err := time.Parse(layout, w[0].text+" "+w[1].text); err == nil {
			e.ModTime = t
			return e, true
		}
	}
	return transfer.Entry{}, false
}
