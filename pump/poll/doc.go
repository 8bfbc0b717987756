// Package poll reads what servers print of their directories: one listing in, entries out.
// It knows no announcements, options or brokers.
//
//	Entry    one name of a directory: size and time, as far as the listing tells
//	Lines    listings of FTP and SFTP servers: ls -l, the style of DOS, the facts of MLSD
//	Page     directories over HTTP: Apache, nginx, sr_serve(1), or any page of links
//	Skipped  what a listing held besides: lines not understood, names refused
//	Web      lists over HTTP, Local lists this host
//
// Listings come from strangers. They are read as a stream, no line or tag is kept longer
// than some KiB, and a name that is not one plain element of a path is refused.
package poll

import (
	"errors"
	"io/fs"
	"strings"
	"time"
)

// An Entry is one name in a directory.
type Entry struct {
	Name string // one element of a path: no slash, no control character
	Dir  bool
	Link string // of a symbolic link its text, "?" when the listing hides it; else empty

	Size   int64 // in bytes; -1 when the listing does not tell
	Approx bool  // Size was rounded, as in 1.2K

	ModTime   time.Time     // in UTC; zero when the listing does not tell
	Precision time.Duration // ModTime is the beginning of a time so long; at least 1 ns

	Mode      fs.FileMode // permission bits, when PermKnown
	PermKnown bool
}

// Same reports whether two listings of a name speak of the same state of it. Times are
// compared as the spans they stand for, so that a date which ls prints as "Nov 21 10:00"
// today and as "Nov 21 2026" in half a year is no change. What only one of the two
// tells does not count.
func (e Entry) Same(o Entry) bool {
	if e.Dir != o.Dir || e.Size >= 0 && o.Size >= 0 && e.Size != o.Size {
		return false
	}
	if e.ModTime.IsZero() || o.ModTime.IsZero() {
		return true
	}
	return e.ModTime.Before(o.end()) && o.ModTime.Before(e.end())
}

// end is the first instant after the span ModTime stands for.
func (e Entry) end() time.Time { return e.ModTime.Add(max(e.Precision, 1)) }

// Finer returns the one of two entries that are the Same which knows the time better, with
// the rest of e: kept, it does not let a change hide behind a rounded date.
func (e Entry) Finer(o Entry) Entry {
	if e.ModTime.IsZero() || !o.ModTime.IsZero() && o.Precision < e.Precision {
		e.ModTime, e.Precision = o.ModTime, o.Precision
	}
	if e.Size < 0 {
		e.Size, e.Approx = o.Size, o.Approx
	}
	return e
}

// Skipped counts what of a listing became no entry, and names the first of it.
type Skipped struct {
	Unknown int    // lines and links not understood
	Refused int    // names no path may hold, links that lead elsewhere
	First   string // the first of either, cut short, quoted as Go does

	Names     int    // of those refused, what are names
	FirstName string // the first of them, as First is
}

// Any reports whether something was skipped.
func (s Skipped) Any() bool { return s.Unknown+s.Refused > 0 }

// How listings are to be read.
type Options struct {
	Now  time.Time      // against which dates without a year are resolved
	Zone *time.Location // of the dates; UTC when nil
	// NameColumn is the number of the column of ls -l in which the name begins, counted
	// from 0; 0 finds out.
	NameColumn int
}

func (o Options) zone() *time.Location {
	if o.Zone == nil {
		return time.UTC
	}
	return o.Zone
}

// ErrTooMany is a directory with more than MaxEntries names.
var ErrTooMany = errors.New("too many names in one directory")

// MaxEntries bounds the names of one directory.
const MaxEntries = 1_000_000

// maxName is the longest name of the file systems we know, in bytes.
const maxName = 255

// plainName reports whether a name is one element of a path, and nothing worse.
func plainName(name string) bool {
	if name == "" || name == "." || name == ".." || len(name) > maxName {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool { return r == '/' || r < ' ' || r == 0x7f })
}
