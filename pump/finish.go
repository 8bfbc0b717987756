package pump

import (
	"sync"

	"srpump/pump/broker"
	"srpump/winnow"
)

// An outcome is how a job ended.
type outcome int

const (
	done    outcome = iota // what it asked for is there and announced: commit its fingerprint
	dropped                // nothing was to be done: rejected, known, superseded, given up
	shelved                // it is in the retry queue
)

// A finisher ends jobs in batches: steps 4 and 5 of the order of durability. It commits
// fingerprints, then acknowledges.
type finisher struct {
	f      *Flow
	mu     sync.Mutex
	wake   *sync.Cond
	ended  []ending
	closed bool
	over   sync.WaitGroup
}

type ending struct {
	j *job
	o outcome
}

func newFinisher(f *Flow) *finisher {
	n := &finisher{f: f}
	n.wake = sync.NewCond(&n.mu)
	n.over.Go(n.run)
	return n
}

// add ends a job. It never waits, for it is also called by what ending another job sets
// free. After close it does nothing: the job comes again at the next start.
func (n *finisher) add(j *job, o outcome) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.closed {
		n.ended = append(n.ended, ending{j, o})
		n.wake.Signal()
	}
}

// end ends a job, once: whoever comes second comes too late.
func (f *Flow) end(j *job, o outcome) {
	j.mu.Lock()
	over := j.over
	j.over = true
	j.mu.Unlock()
	if !over {
		f.finish.add(j, o)
	}
}

// close waits until all that was added has ended.
func (n *finisher) close() {
	n.mu.Lock()
	n.closed = true
	n.wake.Signal()
	n.mu.Unlock()
	n.over.Wait()
}

func (n *finisher) run() {
	var batch []ending
	for {
		n.mu.Lock()
		for len(n.ended) == 0 && !n.closed {
			n.wake.Wait()
		}
		batch, n.ended = n.ended, batch[:0]
		n.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		n.end(batch)
	}
}

func (n *finisher) end(batch []ending) {
	n.commit(batch)
	n.settle(batch)
	var tags []broker.Tag
	for _, e := range batch {
		if e.j.turn != nil {
			n.f.order.leave(e.j.turn)
		}
		if e.j.came != nil {
			n.f.Counters.LagNanos.Store(int64(n.f.host.Now().Sub(e.j.came.Time.Time())))
		}
		if tag, waits := n.f.jobs.end(e.j); waits {
			tags = append(tags, tag)
		}
	}
	n.f.acknowledge(tags)
}

// acknowledge is step 5. A slot is free when the broker waits no longer.
func (f *Flow) acknowledge(tags []broker.Tag) {
	if len(tags) == 0 {
		return
	}
	if err := f.consumer.Ack(tags...); err != nil {
		f.host.Log.Warn("not acknowledged, they come again", "count", len(tags), "error", err)
	}
	for range tags {
		<-f.slots
	}
}

// commit records the fingerprints of what was done and frees the others.
func (n *finisher) commit(batch []ending) {
	if n.f.cache == nil {
		return
	}
	var tokens []winnow.Token
	for _, e := range batch {
		switch {
		case e.j.held && e.o == done:
			tokens = append(tokens, e.j.token)
		case e.j.held, e.j.parked:
			n.f.cache.Release(e.j.token)
		}
	}
	if err := n.f.cache.CommitAll(tokens); err != nil {
		n.f.host.Log.Error("cache not written, duplicates may pass", "error", err)
		for _, t := range tokens {
			n.f.cache.Release(t)
		}
	}
}

// settle takes what was done out of the retry queue, and what it makes void.
func (n *finisher) settle(batch []ending) {
	var writing sync.WaitGroup
	for _, e := range batch {
		entry := n.f.jobs.entry(e.j)
		if entry != nil && e.o != shelved {
			writing.Go(func() { n.report(n.f.retries.Done(entry)) })
		}
		if e.o == done && n.f.plan.files && !e.j.partial && n.f.retries.Pending(e.j.came.Path) {
			writing.Go(func() {
				_, err := n.f.retries.Cancel(e.j.came.Path, n.f.believed(e.j.came.Time))
				n.report(err)
			})
		}
	}
	writing.Wait()
}

func (n *finisher) report(err error) {
	if err != nil {
		n.f.host.Log.Error("retry queue not written, it comes again", "error", err)
	}
}
