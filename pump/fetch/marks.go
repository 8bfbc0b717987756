package fetch

import (
	"encoding"
	"hash"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"srpump/pump/transfer"
)

// marks leaves word of how far a fetch came, while it goes on. A nil marks leaves none. That it cannot be
// written is no failure: the word of before stays true.
type marks struct {
	o    *Partials
	path string
	f    *os.File
	p    partial

	lost   error // of the first sync that failed, after which none means anything
	last   int64 // bytes, at the last word
	when   time.Time
	saving sync.WaitGroup // of the only one that may be under way
	idle   chan struct{}  // holds a value while none is
}

// newMarks begins to leave word of a staged file with a name.
func (j *Job) newMarks(s *Staged, size int64, v transfer.Validator, method string) *marks {
	file, err := s.leftOver()
	if err != nil {
		return nil
	}
	m := &marks{o: j.Partials, path: j.Partials.word(j.Tree, j.Path), f: s.f, when: time.Now(), idle: make(chan struct{}, 1)}
	m.idle <- struct{}{}
	m.p = partial{leftOver: file, Source: digest256(j.Request.URL), Size: size, ETag: v.ETag, ModTime: v.ModTime, Method: method}
	return m
}

// begin says that there is a temporary file, for Sweep.
func (m *marks) begin() {
	if m != nil {
		_ = m.p.write(m.path)
	}
}

// pass is told that n bytes were written and, in the same order, hashed by h, which may be nil.
func (m *marks) pass(n int64, h hash.Hash) {
	if m == nil || n == m.last || n >= m.p.Size {
		return
	}
	if n-m.last < orElse(m.o.Step, 16<<20) && time.Since(m.when) < orElse(m.o.Every, 2*time.Second) {
		return
	}
	select {
	case <-m.idle:
	default:
		return // the disk is slower than the source
	}
	p := m.at(n, h)
	m.saving.Go(func() {
		m.save(&p)
		m.idle <- struct{}{}
	})
}

// at is the word about the first n bytes.
func (m *marks) at(n int64, h hash.Hash) partial {
	m.last, m.when = n, time.Now()
	p := m.p
	p.Done, p.Hash = n, nil
	if b, ok := h.(encoding.BinaryMarshaler); ok {
		p.Hash, _ = b.MarshalBinary() // without it they are read again
	}
	return p
}

// save makes the bytes durable before it says that they are there.
func (m *marks) save(p *partial) {
	if m.lost == nil {
		m.lost = unix.Fdatasync(int(m.f.Fd()))
	}
	if m.lost == nil && p.write(m.path) == nil {
		m.p.Done = p.Done
	}
}

// sound fails where a sync has failed: the kernel says so once and forgets the bytes, so that the next sync of the
// file succeeds without them (fsync(2), EIO).
func (m *marks) sound() error {
	if m == nil {
		return nil
	}
	m.saving.Wait()
	return m.lost
}

// end leaves the last word of a fetch that was interrupted after n bytes.
func (m *marks) end(n int64, h hash.Hash) {
	if m == nil {
		return
	}
	m.saving.Wait()
	if n > m.p.Done && n < m.p.Size {
		p := m.at(n, h)
		m.save(&p)
	}
}

// left reports whether there is word from which a fetch can go on.
func (m *marks) left() bool { return m != nil && m.p.Done > 0 }

// forget takes all words back. Should they come back after a power cut, resume is who finds out that
// their file is gone.
func (m *marks) forget() {
	if m == nil {
		return
	}
	m.saving.Wait()
	_ = os.Remove(m.path)
}
