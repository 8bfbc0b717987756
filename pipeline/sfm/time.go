package sfm

import (
	"encoding/json"
	"fmt"
	"time"
)

// A Time is a moment as messages give it: written as RFC 3339 with offset and, unless they are
// zero, microseconds; read with or without fraction and zone, or as a date alone. Without zone
// it is UTC. The zero Time is none.
type Time struct{ time.Time }

// At is a moment.
func At(t time.Time) Time { return Time{t} }

// ParseTime reads a moment in any of the forms that were ever sent.
func ParseTime(s string) (Time, error) {
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05Z0700", time.DateOnly} {
		if t, err := time.Parse(form, s); err == nil {
			return Time{t}, nil
		}
	}
	return Time{}, fmt.Errorf("%q is no time such as 2015-07-28T11:17:36Z", s)
}

// String is the form in messages; "" of the zero Time.
func (t Time) String() string {
	switch {
	case t.IsZero():
		return ""
	case t.Nanosecond() < int(time.Microsecond):
		return t.Format(time.RFC3339)
	}
	return t.Format("2006-01-02T15:04:05.000000Z07:00")
}

// MarshalJSON is null for the zero Time.
func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(t.String())
}

// UnmarshalJSON takes null as none.
func (t *Time) UnmarshalJSON(data []byte) error {
	var s *string
	err := json.Unmarshal(data, &s)
	if err != nil || s == nil || *s == "" {
		*t = Time{}
		return err
	}
	*t, err = ParseTime(*s)
	return err
}
