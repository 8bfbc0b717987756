package pump

import (
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// An ongoing is one fetch on its way.
type ongoing struct {
	path  string
	size  int64        // announced, in bytes; below zero: not known
	here  atomic.Int64 // bytes of the file that are here
	began time.Time
}

// A Transfer is what can be said of a fetch on its way.
type Transfer struct {
	Path  string    `json:"path"` // where the file goes
	Size  int64     `json:"size"` // announced, in bytes; below zero: not known
	Here  int64     `json:"here"` // bytes of it that are here
	Began time.Time `json:"began"`
}

// Transfers are the fetches on their way, those that began first in front.
func (f *Flow) Transfers() []Transfer {
	if f.room == nil {
		return nil
	}
	f.room.mu.Lock()
	out := make([]Transfer, 0, len(f.room.running))
	for t := range f.room.running {
		out = append(out, Transfer{t.path, t.size, t.here.Load(), t.began})
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
