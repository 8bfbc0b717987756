package hook

import (
	"errors"
	"fmt"
	"time"
)

// finish ends the filter's input: it is to answer for what it holds, and to end.
func (f *filter) finish() {
	if f.finishing {
		return
	}
	f.finishing, f.heard = true, time.Now()
	f.child.finish()
	f.listen(f.child)
}

var errDeaf = errors.New("its input has ended, and it does not answer for what it holds")

// listen ends a filter that does not look at the end of its input. The lock is held.
func (f *filter) listen(child *Child) {
	most := f.stage.o.Ending
	if most <= 0 {
		return
	}
	time.AfterFunc(most-time.Since(f.heard), func() {
		f.stage.mu.Lock()
		defer f.stage.mu.Unlock()
		switch {
		case f.child != child: // it has ended
		case time.Since(f.heard) < most:
			f.listen(child)
		default:
			child.Kill(fmt.Errorf("%w: %s", errDeaf, most))
		}
	})
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
