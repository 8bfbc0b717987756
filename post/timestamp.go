package post

import (
	"fmt"
	"time"
)

// stampLayout is YYYYMMDDHHMMSS, always UTC (sr_post(7), THE FIRST LINE).
const stampLayout = "20060102150405"

// A Timestamp is an instant together with the text it was received as, so that
// a hop sends on exactly what came in. The zero value is no time.
type Timestamp struct {
	t    time.Time
	text string
}

// At is the timestamp of t.
func At(t time.Time) Timestamp { return Timestamp{t: t.UTC()} }

// Time is the instant, in UTC, to the nanosecond.
func (s Timestamp) Time() time.Time { return s.t }

// IsZero reports whether there is no time.
func (s Timestamp) IsZero() bool { return s.t.IsZero() }

// String is the wire form: fourteen digits, a dot, and at least one more.
func (s Timestamp) String() string {
	if s.text != "" {
		return s.text
	}
	return FormatTime(s.t)
}

// FormatTime writes t as every peer reads it: YYYYMMDDHHMMSS, a dot, and two to
// nine digits of the second.
func FormatTime(t time.Time) string {
	b := t.UTC().AppendFormat(make([]byte, 0, 24), stampLayout+".000000000")
	for n := 0; n < 7 && b[len(b)-1] == '0'; n++ {
		b = b[:len(b)-1]
	}
	return string(b)
}

// ParseTimestamp reads a date stamp as living peers write it: with or without
// fraction, without seconds (sr_post(7), EXAMPLE), with a T before the hours,
// or with an exponent left behind the fraction, which is ignored.
func ParseTimestamp(s string) (Timestamp, error) {
	text, fewest := s, 1
	if len(s) > 8 && s[8] == 'T' {
		text, fewest = s[:8]+s[9:], 2
	}
	n := digits(text)
	whole, frac, rest := text[:n], "", text[n:]
	if rest != "" && rest[0] == '.' {
		n = digits(rest[1:])
		frac, rest = rest[1:1+n], rest[1+n:]
	}
	strict := len(whole) == 14 && len(frac) >= fewest && len(frac) <= 30 && rest == ""
	if len(whole) == 12 {
		whole += "00"
	}
	if t, ok := moment(whole); ok && (rest == "" || frac != "" && (rest[0] == 'e' || rest[0] == 'E')) {
		st := Timestamp{t: t.Add(fraction(frac))}
		if strict {
			st.text = text
		}
		return st, nil
	}
	return Timestamp{}, fmt.Errorf("bad date stamp %.40q", s)
}

// moment is the instant of fourteen digits. An announcement holds several, and time.Parse took a
// fifth of the time of reading one.
func moment(s string) (time.Time, bool) {
	if len(s) != len(stampLayout) {
		return time.Time{}, false
	}
	n := func(from, to int) (v int) {
		for _, c := range []byte(s[from:to]) {
			v = 10*v + int(c-'0')
		}
		return v
	}
	month, day, hour, min, sec := n(4, 6), n(6, 8), n(8, 10), n(10, 12), n(12, 14)
	t := time.Date(n(0, 4), time.Month(month), day, hour, min, sec, 0, time.UTC)
	return t, hour < 24 && min < 60 && sec < 60 && t.Day() == day && t.Month() == time.Month(month)
}

// fraction reads decimal digits as parts of a second; past nine they are cut.
func fraction(digits string) time.Duration {
	var ns time.Duration
	unit := time.Second / 10
	for i := 0; i < len(digits) && unit > 0; i++ {
		ns += time.Duration(digits[i]-'0') * unit
		unit /= 10
	}
	return ns
}

// digits is how many decimal digits s begins with.
func digits(s string) (n int) {
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
