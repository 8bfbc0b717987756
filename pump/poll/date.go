package poll

import (
	"strconv"
	"strings"
	"time"
)

// A span is a time as a listing tells it: from start, so long.
type span struct {
	start time.Time // UTC
	span  time.Duration
}

const day = 24 * time.Hour

// lsDate reads the date at the front of words: "Nov 21 10:00", "Nov 21 2026" (also with the
// day first), "2026-11-21 10:00". It returns how many words it is.
func lsDate(w []field, o Options) (s span, n int, ok bool) {
	if len(w) >= 3 && strings.Count(w[0].text, "-") == 2 {
		s, ok = isoDate(w[0].text, w[1].text, o)
		n = 2
		if ok && isOffset(w[2].text) { // --full-time
			n = 3
		}
		return s, n, ok
	}
	if len(w) < 4 {
		return span{}, 0, false
	}
	m, d := month(w[0].text), w[1].text
	if m == 0 {
		m, d = month(w[1].text), w[0].text
	}
	dom, err := strconv.Atoi(strings.TrimRight(d, ".,"))
	if m == 0 || err != nil || dom < 1 || dom > 31 {
		return span{}, 0, false
	}
	if year, err := strconv.Atoi(w[2].text); err == nil && len(w[2].text) == 4 {
		s, ok = date(year, m, dom, 0, 0, o.zone())
		s.span = day
		return s, 3, ok
	}
	c, err := time.Parse("15:04", w[2].text)
	if err != nil {
		return span{}, 0, false
	}
	s, ok = recent(m, dom, c, o)
	return s, 3, ok
}

// recent gives a date without a year the one that makes it the latest that is not more than
// a day ahead: clocks and zones of servers differ, but no listing speaks of next month.
func recent(m time.Month, dom int, clock time.Time, o Options) (span, bool) {
	limit := o.Now.Add(day)
	const leap = 8 // a February 29 may be as many years ago
	for year := limit.In(o.zone()).Year(); year >= limit.Year()-leap; year-- {
		s, ok := date(year, m, dom, clock.Hour(), clock.Minute(), o.zone())
		if ok && !s.start.After(limit) {
			return s, true
		}
	}
	return span{}, false
}

// date makes a time to the minute; false for a day the month has not.
func date(year int, m time.Month, dom, hour, minute int, zone *time.Location) (span, bool) {
	t := time.Date(year, m, dom, 12, 0, 0, 0, time.UTC)
	if t.Day() != dom || t.Month() != m || year < 1 {
		return span{}, false
	}
	return span{time.Date(year, m, dom, hour, minute, 0, 0, zone).UTC(), time.Minute}, true
}

// isoDate reads "2026-11-21" and "10:00", with seconds and their fraction or without.
func isoDate(date, clock string, o Options) (span, bool) {
	for _, form := range [...]struct {
		layout string
		span   time.Duration
	}{{"15:04", time.Minute}, {"15:04:05", time.Second}} {
		t, err := time.ParseInLocation("2006-01-02 "+form.layout, date+" "+clock, o.zone())
		if err == nil && t.Year() > 0 {
			if t.Nanosecond() != 0 {
				form.span = 1
			}
			return span{t.UTC(), form.span}, true
		}
	}
	return span{}, false
}

func isOffset(s string) bool {
	_, err := time.Parse("-0700", s)
	return err == nil
}

// month reads the English name of a month or its first three letters; 0 is none.
func month(s string) time.Month {
	s = strings.TrimRight(s, ".,")
	if len(s) < 3 {
		return 0
	}
	for m := time.January; m <= time.December; m++ {
		if name := m.String(); strings.EqualFold(s, name) || strings.EqualFold(s, name[:3]) {
			return m
		}
	}
	return 0
}
