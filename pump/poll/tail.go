package poll

import (
	"strconv"
	"strings"
	"time"
)

// tailWords bounds the words looked at behind a link: date, size, and no further.
const tailWords = 6

// describe takes date and size from the text behind a link: "2026-11-21 10:00  1.2K",
// "21-Nov-2026 10:00  1234", "2026-Nov-21 10:00:00 1.2K". What comes behind them is a
// description.
func describe(e *Entry, tail string, o Options) {
	w := strings.Fields(tail)
	w = w[:min(len(w), tailWords)]
	for i := 0; i+1 < len(w); i++ {
		s, ok := pageDate(w[i], w[i+1], o)
		if !ok {
			continue
		}
		e.ModTime, e.Precision = s.start, s.span
		if i+2 < len(w) && !e.Dir {
			e.Size, e.Approx = pageSize(w[i+2])
		}
		return
	}
}

// pageDate reads the forms of date of the servers we know.
func pageDate(date, clock string, o Options) (span, bool) {
	if s, ok := isoDate(date, clock, o); ok {
		return s, true
	}
	for _, d := range [...]string{"02-Jan-2006", "2006-Jan-02"} {
		for _, c := range [...]struct {
			layout string
			span   time.Duration
		}{{"15:04", time.Minute}, {"15:04:05", time.Second}} {
			if t, err := time.ParseInLocation(d+" "+c.layout, date+" "+clock, o.zone()); err == nil && t.Year() > 0 {
				return span{t.UTC(), c.span}, true
			}
		}
	}
	return span{}, false
}

// pageSize reads a size: digits are bytes, 1.2K and the like were rounded. -1 is none.
func pageSize(s string) (n int64, approx bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && n >= 0 {
		return n, false
	}
	s = strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(s), "B"), "I")
	unit := strings.IndexByte("KMGTP", (s + " ")[max(len(s)-1, 0)])
	if unit < 0 || len(s) < 2 {
		return -1, false
	}
	f, err := strconv.ParseFloat(s[:len(s)-1], 64)
	if bytes := f * float64(int64(1)<<(10*(unit+1))); err == nil && bytes >= 0 && bytes < 1<<62 {
		return int64(bytes), true
	}
	return -1, false
}
