// Package retry keeps announcements whose work failed until it succeeds or is given up,
// on disk, so that their messages can be acknowledged.
//
//	Queue       what is to be tried again, and when
//	Entry       one announcement taken out to be tried
//	Class       whether trying again may help
//	DeadLetter  what was given up, and messages that could never be understood
//
// The queue is a file of lines that older tools read too (line.go).
package retry

import (
	"errors"
	"log/slog"
	"time"

	"srpump/post"
)

// A Class says what trying again can do.
type Class string

const (
	Temporary Class = "temporary" // tried until the time to live is over
	Permanent Class = "permanent" // a few tries more: gone, forbidden, checksum changed
	Hopeless  Class = "hopeless"  // given up at once
)

var (
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("retry queue is closed")
	// ErrBusy is wrapped by Open when another process has the directory.
	ErrBusy = errors.New("in use by another process")
)

// Options configure a queue; the zero value is ready for use.
type Options struct {
	Logger       *slog.Logger     // silent when nil
	Now          func() time.Time // time.Now when nil
	TTL          time.Duration    // from the first failure to giving up; 48 h when 0
	MaxPermanent int              // failures of class Permanent until giving up; 8 when 0
	NewestFirst  bool             // of what is due, what was announced last comes first; a path keeps its order
	NoSync       bool             // leave the disk to the kernel: a power cut may lose what was added
}

// An Entry is an announcement that is due. It is in flight until Done or Fail.
type Entry struct {
	Announcement *post.Announcement
	Tries        int       // failures so far
	Class        Class     // of the last one
	Why          string    // of the last one
	Since        time.Time // the first one

	item *item
}

func (o *Options) fill() {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.TTL <= 0 {
		o.TTL = 48 * time.Hour
	}
	if o.MaxPermanent <= 0 {
		o.MaxPermanent = 8
	}
}
