package blocks

import (
	"errors"
	"fmt"
	"time"

	"srpump/partition"
	"srpump/post"
)

// Most is the number of blocks a file may have.
const Most = 1 << 20

// ErrTooMany is a file in more blocks than can be kept count of.
var ErrTooMany = errors.New("too many blocks")

// A Version is one state of a file. All its blocks have one cutting and, where it is announced, one
// time of modification; where it is not, one time of posting.
type Version struct {
	Cut    partition.Block `json:"cut"`             // of method i, number 0
	Mtime  string          `json:"mtime,omitempty"` // as sr_post(7) writes times; empty where none is announced
	Posted time.Time       `json:"posted"`          // the latest of what is known of it
}

// VersionOf is the version an announcement of a block, posted at a time, is of. The error wraps ErrTooMany.
func VersionOf(a *post.Announcement, posted time.Time) (Version, error) {
	v := Version{Cut: a.Block, Posted: posted.UTC()}
	v.Cut.Method, v.Cut.Number = partition.Inplace, 0
	if t := a.Mtime(); !t.IsZero() {
		v.Mtime = post.FormatTime(t.Time())
	}
	if v.Cut.Count > Most {
		return v, fmt.Errorf("%w: %d, at most %d are received", ErrTooMany, v.Cut.Count, Most)
	}
	return v, nil
}

// Key is the same for all blocks of one version.
func (v Version) Key() string {
	if v.Mtime != "" {
		return v.Cut.String() + "," + v.Mtime
	}
	return v.Cut.String() + ",," + v.Posted.Format(time.RFC3339Nano)
}

// Same reports whether two blocks may be put together: two sources of one file may have
// posted it at different times.
func (v Version) Same(w Version) bool { return v.Key() == w.Key() }

func (v Version) holds(n int64) bool { return n >= 0 && n < v.Cut.Count }

// bits are one bit for each block of a file.
type bits []uint64

func newBits(n int64) bits { return make(bits, (n+63)/64) }

func (b bits) has(n int64) bool { return b[n/64]&(1<<(n%64)) != 0 }

func (b bits) set(n int64, to bool) {
	if to {
		b[n/64] |= 1 << (n % 64)
	} else {
		b[n/64] &^= 1 << (n % 64)
	}
}
