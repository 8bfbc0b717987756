package watch

import (
	"hash/maphash"
	"io/fs"
	"sync"
	"time"
)

// recentMax bounds one generation of recent: 16 bytes an entry, some 10 MB when
// both are full.
const recentMax = 1 << 17

// recent remembers in which state files were last reported, so that what a
// re-read or a late event finds again is not reported again. It forgets the
// oldest half when it is full, which costs a second report at most.
type recent struct {
	mu         sync.Mutex
	seed       maphash.Seed
	young, old map[uint64]signature
}

func newRecent() *recent {
	return &recent{seed: maphash.MakeSeed(), young: make(map[uint64]signature)}
}

// remember notes that path was reported as info says, looked at at the time now.
func (r *recent) remember(path string, info fs.FileInfo, now time.Time) {
	r.put(path, sign(r.seed, info, now))
}

func (r *recent) put(path string, sig signature) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.young) >= recentMax {
		r.old, r.young = r.young, make(map[uint64]signature)
	}
	r.young[maphash.String(r.seed, path)] = sig
}

// Own says that who is told of changes has announced the file at path and then changed its attributes
// itself, so that it is as info says: that is no news. It may be called at any time.
func (w *Watcher) Own(path string, info fs.FileInfo) {
	// However fresh the change, one that came after it moves the time of the contents, or the mode.
	w.recent.put(path, sign(w.recent.seed, info, ChangeTime(info).Add(2*racy)))
}

func (r *recent) forget(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := maphash.String(r.seed, path)
	delete(r.young, key)
	delete(r.old, key)
}

// clear forgets everything: below a directory that is gone nothing counts as
// reported any more, and hashes do not tell what lay below it.
func (r *recent) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.young)
	r.old = nil
}

// told reports whether path was last reported in this very state. When the only
// events since concern the inode, the ctime need not agree: it moves with the
// link count and the owner, which no announcement carries.
func (r *recent) told(path string, info fs.FileInfo, m mark) bool {
	last, ok := r.last(path)
	if !ok || m&(gone|goneDir) != 0 {
		return false
	}
	is := sign(r.seed, info, time.Now())
	if is.state != last.state {
		return false
	}
	return m == attrib || last.change != 0 && last.change == is.change
}

func (r *recent) last(path string) (signature, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := maphash.String(r.seed, path)
	last, ok := r.young[key]
	if !ok {
		last, ok = r.old[key]
	}
	return last, ok
}
