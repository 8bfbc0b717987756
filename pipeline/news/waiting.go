package news

import "slices"

// How many halves of stories wait for the other one, and how many bytes.
const (
	maxWaiting      = 64
	maxWaitingBytes = 64 << 20
)

// A half is a page without its metadata, or the reverse.
type half struct {
	id     string // of the response record
	uri    string
	offset int64
	page   []byte
	story  *Story
	size   int  // in bytes
	hurt   bool // the other half was lost to damage that was told
}

// waiting are halves, in the order they came.
type waiting struct {
	all   []half
	bytes int
}

// add keeps a half, and returns those that have waited too long.
func (w *waiting) add(h half) (old []half) {
	if i := w.index(h.id); i >= 0 {
		old = append(old, w.remove(i))
	}
	w.all, w.bytes = append(w.all, h), w.bytes+h.size
	for len(w.all) > maxWaiting || w.bytes > maxWaitingBytes && len(w.all) > 1 {
		old = append(old, w.remove(0))
	}
	return old
}

func (w *waiting) index(id string) int {
	return slices.IndexFunc(w.all, func(h half) bool { return h.id == id })
}

func (w *waiting) remove(i int) half {
	h := w.all[i]
	w.all, w.bytes = slices.Delete(w.all, i, i+1), w.bytes-h.size
	return h
}

// get is the half with an id, or nil.
func (w *waiting) get(id string) *half {
	if i := w.index(id); i >= 0 {
		return &w.all[i]
	}
	return nil
}

// take is get, and the half waits no more.
func (w *waiting) take(id string) *half {
	if i := w.index(id); i >= 0 {
		h := w.remove(i)
		return &h
	}
	return nil
}

// mark notes that what a half waits for may be lost.
func (w *waiting) mark(id string) {
	if h := w.get(id); h != nil {
		h.hurt = true
	}
}
