// Package winnow answers one question for a flow: has this been announced
// already? Its cache lets several redundant sources feed one network without
// anything being sent twice, and without losing what really changed.
//
//	Key     what makes two announcements the same: sum, path by basis, exact parts; of blocks
//	        the time their file was modified or posted, too
//	Slot    what an announcement speaks of: a path, or one block of it
//	Mark    the last thing known of a slot: key, time announced, first sight
//	Fresh   nobody announced it yet; the caller now holds it
//	Held    somebody else is at it; park, and be dropped or promoted
//
// A fingerprint is free, held or committed. It is committed only after its new
// announcement was confirmed, so that what fails is free again. Held ones live
// in memory alone: after a crash they are free.
//
// Marks live outside of the collected heap, in tables of fixed-size records, and
// are logged in segments of checksummed frames (see segment.go for the format).
package winnow

import (
	"errors"
	"log/slog"
	"time"
)

// A Mode says how many sources feed the flow.
type Mode uint8

const (
	// Many redundant sources (sr_winnow): a duplicate is the same key within the
	// time to live, counted from its first sight, unless its path changed since.
	Many Mode = iota
	// One source (posters, sr_sarra, sr_subscribe): a duplicate is what equals the
	// last thing known of its path.
	One
)

// A Basis says which part of the path belongs to the key.
type Basis uint8

const (
	Path Basis = iota // the whole path, as all living peers do
	Name              // the base name
	Data              // nothing of it: equal bytes are the same wherever they are; empty files never
)

// A Verdict is the answer to Offer.
type Verdict uint8

const (
	Fresh     Verdict = iota // pass it on; then Commit, or Release when that failed
	Duplicate                // drop and acknowledge it
	Held                     // another copy is being worked on: Park
)

// String is the verdict in lower case, for logs.
func (v Verdict) String() string { return [...]string{"fresh", "duplicate", "held"}[v] }

var (
	// ErrNotHeld is returned by Commit for a token that holds nothing: it was
	// committed or released before, or is parked.
	ErrNotHeld = errors.New("fingerprint is not held")
	// ErrClosed is returned by Commit after Close.
	ErrClosed = errors.New("cache is closed")
	// ErrBusy is wrapped by Open when another process has the directory.
	ErrBusy = errors.New("in use by another process")
	// ErrNewer is wrapped by Open when a segment was written by a later version.
	ErrNewer = errors.New("written by a newer version")
)

// Options configure a cache.
type Options struct {
	Mode   Mode
	Basis  Basis
	TTL    time.Duration    // must be positive
	Dir    string           // holds the log, made when missing; memory only when empty
	Logger *slog.Logger     // silent when nil
	Now    func() time.Time // time.Now when nil
}

// Stats are counted since Open.
type Stats struct {
	Fresh, Duplicate, Held uint64
	Committed, Released    uint64
	Expired                uint64
	// EqualSums counts announcements of two paths with equal sums seen shortly after one
	// another: with basis Path both pass, with Data the second is dropped, and who expects
	// the opposite should be told, once. It is an estimate from below.
	EqualSums uint64
	// Damaged counts frames of the log that could not be read at Open.
	Damaged int
}
