// Package transfer moves bytes by URL. It knows no announcements, options or
// brokers.
//
//	Request    which bytes of which URL
//	Body       the bytes, their number and what proves them unchanged
//	Getter     gets by one scheme; HTTP and File are here, others in rooms below, handed to a Set
//	Lister     looks at a place: what is in a directory, what one name is
//	Writer     changes a place: puts, renames, removes
//	Error      why it failed, in classes a caller can act on
//
// Every scheme passes the suites in transfertest for what it can.
package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"
)

// A Request names the bytes to get.
type Request struct {
	URL    string // percent-encoded
	Offset int64  // bytes to leave out in front
	Length int64  // bytes wanted; below zero: to the end
	// IfUnchanged, when set, makes the request fail with class Changed if
	// the source can tell that it is no longer what the validator saw.
	IfUnchanged Validator
}

// Whole asks for everything behind a URL.
func Whole(url string) Request { return Request{URL: url, Length: -1} }

// Partial reports whether only a part is asked for.
func (r Request) Partial() bool { return r.Offset > 0 || r.Length >= 0 }

// Check refuses what is no range of bytes; offsets come from announcements, which may lie.
func (r Request) Check() error {
	if r.Offset < 0 || r.Length > 0 && r.Offset > math.MaxInt64-r.Length {
		return fail(r.URL, Range, fmt.Errorf("no file has %d bytes at %d", r.Length, r.Offset))
	}
	return nil
}

// A Validator identifies one state of a source. The zero value says nothing.
type Validator struct {
	ETag    string // as sent, with its quotes
	ModTime time.Time
}

// Differs reports whether now is certainly another state than v; only what both know counts.
func (v Validator) Differs(now Validator) bool {
	if v.ETag != "" && now.ETag != "" {
		return v.ETag != now.ETag
	}
	return !v.ModTime.IsZero() && !now.ModTime.IsZero() && !v.ModTime.Equal(now.ModTime)
}

// Proves reports whether now is certainly the same state as v: by a strong ETag, or where there is none, by the
// time. A weak ETag vouches for no bytes.
func (v Validator) Proves(now Validator) bool {
	if v.ETag != "" || now.ETag != "" {
		return v.ETag == now.ETag && !strings.HasPrefix(v.ETag, "W/")
	}
	return !v.ModTime.IsZero() && v.ModTime.Equal(now.ModTime)
}

// A Body is what a Getter answers. Reading it fails with an *Error; it ends
// with io.EOF only when it was complete.
type Body struct {
	io.ReadCloser
	Size int64 // bytes in this body; -1 when the source does not say
	Validator
	// File is the open source, positioned at the first byte, when it is a
	// file of this host; else nil. Closing the body closes it.
	File *os.File
}

// A Getter gets bytes of one scheme. It may be used by many goroutines at once.
type Getter interface {
	// Get starts a transfer. The caller closes the body, at the latest when
	// ctx is done. A failure is an *Error. A request with a Length gives
	// exactly that many bytes or fails with class Range.
	Get(ctx context.Context, r Request) (*Body, error)
	// Close gives up idle connections; Get may not be called afterwards.
	Close() error
}

// A Set gets by the scheme of the URL, a lower-case name such as "https".
type Set map[string]Getter

// Get hands the request to the Getter of its scheme; class Refused when there is none.
func (s Set) Get(ctx context.Context, r Request) (*Body, error) {
	scheme, _, ok := strings.Cut(r.URL, ":")
	g := s[strings.ToLower(scheme)]
	if !ok || g == nil {
		return nil, fail(r.URL, Refused, errors.New("no transport for this kind of URL"))
	}
	return g.Get(ctx, r)
}

// Close closes every Getter once.
func (s Set) Close() error {
	closed := make(map[Getter]bool, len(s))
	var errs []error
	for _, g := range s {
		if !closed[g] {
			closed[g] = true
			errs = append(errs, g.Close())
		}
	}
	return errors.Join(errs...)
}
