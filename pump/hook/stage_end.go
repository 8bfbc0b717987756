package hook

import (
	"errors"
	"time"
)

// finish ends the filter's input: it is to answer for what it holds, and to end.
func (f *filter) finish() {
	f.finishing = true
	f.child.finish()
}

var errLingers = errors.New("it has answered for all, and does not end")

// dismiss ends a filter with nothing more to do that does not end by itself: nothing is given to another in its
// place. The lock is held.
func (f *filter) dismiss() {
	child := f.child
	time.AfterFunc(closeTime, func() { child.Kill(errLingers) })
}

// waits has the filter answer for what it holds when it is given nothing new for so long. The lock is held.
func (f *filter) waits() {
	d := f.stage.o.Idle
	if d <= 0 {
		return
	}
	f.fed = time.Now()
	if f.rest == nil {
		f.rest = time.AfterFunc(d, f.rested)
		return
	}
	f.rest.Reset(d)
}

func (f *filter) rested() {
	s := f.stage
	s.mu.Lock()
	defer s.mu.Unlock()
	fed := time.Since(f.fed) < s.o.Idle // meanwhile
	if !fed && !s.closed && f.child != nil && !f.finishing && len(f.held) > 0 {
		f.finish()
	}
}
