package poll

import (
	"strconv"
	"time"
)

// parseDOS reads a line of FTP servers of Windows: "11-21-26  10:00AM  <DIR>  name" or
// "11-21-2026  10:00  1234 name".
func parseDOS(s string, o Options) (Entry, Verdict) {
	f := fields(s, 4)
	if len(f) < 4 {
		return Entry{}, Unknown
	}
	at, ok := dosDate(f[0].text, f[1].text, o)
	if !ok {
		return Entry{}, Unknown
	}
	e := Entry{Name: s[f[3].start:], ModTime: at, Precision: time.Minute, Size: -1}
	switch f[2].text {
	case "<DIR>":
		e.Dir = true
		return e, Listed
	case "<JUNCTION>", "<SYMLINK>", "<SYMLINKD>":
		e.Link = "?"
		return e, Listed
	}
	n, err := strconv.ParseInt(f[2].text, 10, 64)
	if err != nil || n < 0 {
		return Entry{}, Unknown
	}
	e.Size = n
	return e, Listed
}

func dosDate(date, clock string, o Options) (time.Time, bool) {
	for _, d := range [...]string{"01-02-06", "01-02-2006", "2006-01-02", "01/02/06", "01/02/2006"} {
		for _, c := range [...]string{"03:04PM", "15:04"} {
			if t, err := time.ParseInLocation(d+" "+c, date+" "+clock, o.zone()); err == nil && t.Year() > 0 {
				return t.UTC(), true
			}
		}
	}
	return time.Time{}, false
}
