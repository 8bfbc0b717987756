package harvest

import (
	"sync"
	"time"
)

// A committer does things one after the other, until one fails.
type committer struct {
	work   chan func() error
	ended  chan struct{}
	failed func() // called when one fails
	err    error
}

func newCommitter(failed func()) *committer {
	c := &committer{work: make(chan func() error, 16), ended: make(chan struct{}), failed: failed}
	go func() {
		defer close(c.ended)
		for f := range c.work {
			if c.err != nil {
				continue
			}
			if c.err = f(); c.err != nil {
				c.failed()
			}
		}
	}()
	return c
}

func (c *committer) do(f func() error) { c.work <- f }

// wait does what is left, and is the error of what failed.
func (c *committer) wait() error {
	close(c.work)
	<-c.ended
	return c.err
}

// regularly sends statuses of a stream until the end.
func (h *harvest) regularly(work *committer) (end func()) {
	if !h.kind.Stream {
		return func() {}
	}
	ticker, over := time.NewTicker(h.o.Status), make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		for {
			select {
			case <-ticker.C:
				work.do(func() error { return h.tell(h.phase()) })
			case <-over:
				return
			}
		}
	})
	return func() {
		ticker.Stop()
		close(over)
		ended.Wait()
	}
}
