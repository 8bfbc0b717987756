package watch

import (
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// mailboxMax bounds the events that wait to be looked into. Beyond it they are
// dropped and made good by a re-walk, as when the kernel drops them.
const mailboxMax = 1 << 18

// A mailbox takes events from the loop that drains the kernel's queue, which
// must never wait, and keeps them in order for the one that looks into them.
type mailbox struct {
	wake chan struct{}

	mu    sync.Mutex
	notes []fsnotify.Event
	lost  bool
	quiet time.Time // when nothing was known to be lost; moves on while lost is false
}

func newMailbox() *mailbox {
	return &mailbox{wake: make(chan struct{}, 1), quiet: time.Now()}
}

func (b *mailbox) put(ev fsnotify.Event) (overflow bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.notes) >= mailboxMax {
		b.notes = nil
		overflow = !b.lost
		b.lost = true
	}
	b.notes = append(b.notes, ev)
	b.ring()
	return overflow
}

// lose notes that events were dropped.
func (b *mailbox) lose() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lost = true
	b.ring()
}

// idle notes that the queue was empty just now, so that nothing before can get
// lost any more.
func (b *mailbox) idle() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.lost {
		b.quiet = time.Now()
	}
}

// take returns the events gathered so far.
func (b *mailbox) take() []fsnotify.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	notes := b.notes
	b.notes = nil
	return notes
}

// lostSince reports whether events were dropped, and since when at the
// earliest, and begins to count anew.
func (b *mailbox) lostSince() (since time.Time, lost bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	since, lost = b.quiet, b.lost
	if lost {
		b.lost, b.quiet = false, time.Now()
	}
	return since, lost
}

// missing reports whether a re-walk is owed.
func (b *mailbox) missing() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lost
}

func (b *mailbox) ring() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}
