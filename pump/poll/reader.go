package poll

import (
	"strconv"
	"time"
)

// Years of times that are believed; those that nanoseconds since 1970 hold in 64 bits
// are a little more.
const firstYear, lastYear = 1700, 2200

// A reading is one listing on its way to entries.
type reading struct {
	o       Options
	yield   func(Entry) error
	n       int
	skipped Skipped
}

// give hands on an entry, or refuses its name.
func (r *reading) give(e Entry) error {
	if !plainName(e.Name) {
		r.refuse(e.Name)
		if r.skipped.Names++; r.skipped.Names == 1 {
			r.skipped.FirstName = quoted(e.Name)
		}
		return nil
	}
	if r.n++; r.n > MaxEntries {
		return ErrTooMany
	}
	if y := e.ModTime.Year(); y < firstYear || y > lastYear {
		e.ModTime, e.Precision = time.Time{}, 0
	}
	return r.yield(e)
}

func (r *reading) refuse(what string) {
	r.skipped.Refused++
	r.first(what)
}

func (r *reading) unknown(what string) {
	r.skipped.Unknown++
	r.first(what)
}

func (r *reading) first(what string) {
	if r.skipped.First == "" {
		r.skipped.First = quoted(what)
	}
}

// quoted is the beginning of what a server said, as it may be shown.
func quoted(what string) string {
	const shown = 80
	return strconv.QuoteToASCII(what[:min(len(what), shown)])
}
