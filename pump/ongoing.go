package pump

import (
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// An ongoing is one fetch on its way.
type ongoing struct {
	path  string
	size  int64        // announced, in bytes; below zero: not known
	here  atomic.Int64 // bytes of the file that are here
	began time.Time
	whole int64        // bytes of the file it is a block of, which began with it; 0: it is the file
	rest  func() int64 // bytes of that file that are not here, whoever fetches them; nil: it is the file
}

// file is the size of the file, in bytes; below zero: not known.
func (t *ongoing) file() int64 { return orElse(t.whole, t.size) }

// wants is the room there has to be before it is begun, in bytes; one where the size is not known.
func (t *ongoing) wants() int64 {
	switch {
	case t.rest != nil:
		return t.rest()
	case t.size < 0:
		return 1
	}
	return t.size
}

// owes is what it has yet to bring, in bytes.
func (t *ongoing) owes() int64 {
	if t.rest != nil {
		return t.rest()
	}
	return max(0, t.size-t.here.Load())
}

// absent is how many of the bytes of a file that is put together at a path have no place on the disk yet.
func absent(path string, size int64) int64 {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return size
	}
	return max(0, size-st.Blocks*512)
}

// A Transfer is what can be said of a file on its way.
type Transfer struct {
	Path  string    `json:"path"` // where the file goes
	Size  int64     `json:"size"` // announced, in bytes; below zero: not known
	Here  int64     `json:"here"` // bytes of it that have come there
	Began time.Time `json:"began"`
}

// transfer is the file that t is, or is a block of.
func (t *ongoing) transfer() Transfer {
	if t.whole > 0 {
		return Transfer{t.path, t.whole, t.whole - t.rest(), t.began}
	}
	return Transfer{t.path, t.size, t.here.Load(), t.began}
}

// Transfers are the files on their way, those that began first in front. One in blocks is one, however many are
// fetched at once.
func (f *Flow) Transfers() []Transfer {
	if f.room == nil {
		return nil
	}
	f.room.mu.Lock()
	out := make([]Transfer, 0, len(f.room.running))
	files := make(map[string]bool)
	for t := range f.room.running {
		if t.whole == 0 || !files[t.path] {
			out = append(out, t.transfer())
		}
		files[t.path] = true
	}
	f.room.mu.Unlock()
	slices.SortFunc(out, func(a, b Transfer) int {
		if c := a.Began.Compare(b.Began); c != 0 {
			return c
		}
		return strings.Compare(a.Path, b.Path)
	})
	return out
}
