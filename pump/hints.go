package pump

import (
	"log/slog"
	"sync"

	"github.com/cespare/xxhash/v2"
)

// hints are what a flow points out once: not wrong, but perhaps not what was meant.
type hints struct {
	unbounded sync.Once // files of this host, with no base_dir
	equalSums sync.Once
	oneName   sync.Once

	kept sync.Map // hosts of which no source is removed

	mu    sync.Mutex
	taken map[uint64]uint64 // destination → the path announced for it, as xxhash64 of each
}

// keeps notes that no source of a host is removed, and reports whether that is known.
func (h *hints) keeps(host string) (known bool) {
	_, known = h.kept.LoadOrStore(host, true)
	return known
}

// placesKept bounds how many destinations are remembered.
const placesKept = 50_000

// place warns when two paths are put under one name, of which the second replaces the first.
func (h *hints) place(log *slog.Logger, j *job) {
	if inBlocks(j.a) {
		return // blocks of one file go to one place
	}
	if c := j.choice.Capture; c.Mirror && (c.Strip == "" || c.Strip == "0") {
		return
	}
	full, from := xxhash.Sum64String(j.at.Full()), xxhash.Sum64String(j.a.Path)
	h.mu.Lock()
	first, known := h.taken[full]
	if h.taken == nil || len(h.taken) >= placesKept {
		h.taken = make(map[uint64]uint64)
	}
	h.taken[full] = from
	h.mu.Unlock()
	if known && first != from {
		h.oneName.Do(func() {
			log.Warn("two announced paths have one destination", "path", j.at.Full(), "announced", j.a.Path, "hint", "mirror on keeps them apart")
		})
	}
}

// hintEqualSums points out that equal files under two paths pass.
func (f *Flow) hintEqualSums() {
	if f.cache == nil || f.cache.Stats().EqualSums == 0 {
		return
	}
	f.hints.equalSums.Do(func() {
		basis := f.cfg.Values.String("suppress_duplicates_basis")
		f.host.Log.Warn("equal sums under two paths", "basis", basis, "hint",
			"with suppress_duplicates_basis path both pass, with data only the first does")
	})
}
