package pump

import (
	"context"
	"errors"
	"time"

	"srpump/post"
	"srpump/pump/broker"
	"srpump/pump/fetch"
	"srpump/pump/retry"
	"srpump/pump/transfer"
)

// failed puts a job that could not be done on disk, to be tried again; only then
// is its delivery acknowledged.
func (f *Flow) failed(ctx context.Context, j *job, err error) {
	if ctx.Err() != nil {
		return // stopped: it comes again at the next start
	}
	class := classOf(err)
	if class == retry.Hopeless || !f.cfg.Values.Bool("retry") {
		f.giveUp(j, err)
		return
	}
	var gone bool
	var werr error
	if e := f.jobs.entry(j); e != nil {
		gone, werr = f.retries.Fail(e, class, err.Error())
	} else {
		gone, werr = f.retries.Add(j.a, class, err.Error())
	}
	if werr != nil {
		f.unwritten(ctx, j, werr)
		return
	}
	if gone {
		f.Counters.GivenUp.Add(1)
		f.host.Log.Error("given up", "path", j.at.Full(), "url", j.url(), "error", err, "file", f.DeadLetters())
	} else {
		f.Counters.Retried.Add(1)
		f.host.Log.Warn("retry", "path", j.at.Full(), "url", j.url(), "class", class, "error", err)
	}
	f.finish.add(j, shelved)
}

// writeAgain is the pause before a full or failing disk is tried again.
const writeAgain = 10 * time.Second

// unwritten: neither done nor on disk. It is tried again as it is, for as long
// as the disk takes nothing.
func (f *Flow) unwritten(ctx context.Context, j *job, err error) {
	f.host.Log.Error("retry queue not written, trying again", "path", j.a.Path, "error", err)
	time.AfterFunc(writeAgain, func() { f.pool.add(ctx, j) })
}

// giveUp keeps aside what can never be done.
func (f *Flow) giveUp(j *job, err error) {
	f.Counters.GivenUp.Add(1)
	f.host.Log.Error("given up", "path", j.a.Path, "topic", j.a.Topic, "error", err, "file", f.DeadLetters())
	m, encErr := post.EncodeV02(j.a)
	if encErr != nil {
		m = post.Message{Topic: j.a.Topic, Headers: j.a.Headers, Body: []byte(j.a.Text())}
	}
	f.setAside(j, m, err.Error())
}

// setAside writes a message to the dead-letter file, and ends its job once it is there.
func (f *Flow) setAside(j *job, m post.Message, why string) {
	if err := f.retries.DeadLetter().Write(m.Topic, m.Headers, m.Body, why, f.host.Now()); err != nil {
		f.host.Log.Error("dead letter not written, trying again", "topic", m.Topic, "error", err)
		time.AfterFunc(writeAgain, func() { f.setAside(j, m, why) })
		return
	}
	f.finish.add(j, dropped)
}

// classOf tells failures that may pass from those that will not.
func classOf(err error) retry.Class {
	var te *transfer.Error
	var fe *fetch.Error
	switch {
	case errors.Is(err, errMismatch):
		return retry.Permanent
	case errors.As(err, &fe):
		switch fe.Class {
		case fetch.Hopeless:
			return retry.Hopeless
		case fetch.Blocked, fetch.Oversize:
			return retry.Permanent
		}
	case errors.As(err, &te):
		switch te.Class {
		case transfer.NotFound, transfer.Forbidden, transfer.Range, transfer.Changed:
			return retry.Permanent
		case transfer.Refused:
			return retry.Hopeless
		}
	}
	return retry.Temporary
}

// retryEvery is how often the retry queue is looked at.
const retryEvery = 50 * time.Millisecond

// retryLoop takes in again what is due, as much as there are workers for.
func (f *Flow) retryLoop(ctx context.Context) {
	tick := time.NewTicker(retryEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		_, under := f.jobs.len()
		for _, e := range f.retries.Due(f.host.Now(), 4*f.plan.workers-under) {
			j := &job{a: e.Announcement, kept: e, again: true}
			f.jobs.add(j)
			f.admit(ctx, j)
		}
	}
}

// The broker takes back what is not acknowledged for long; an acknowledgement never
// waits that long.
const (
	spillAfter = time.Minute
	spillEvery = 10 * time.Second
)

// spillLoop moves to disk what the broker has been waiting for too long: it goes on as it
// is, but is acknowledged.
func (f *Flow) spillLoop(ctx context.Context) {
	tick := time.NewTicker(spillEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			f.spill(time.Now().Add(-spillAfter))
			f.hintEqualSums()
		case <-ctx.Done():
			return
		}
	}
}

func (f *Flow) spill(before time.Time) {
	for _, j := range f.jobs.waiting(before) {
		if err := f.spillJob(j); err != nil {
			f.host.Log.Error("not moved to disk", "path", j.a.Path, "error", err)
			return
		}
	}
}

func (f *Flow) spillJob(j *job) error {
	e, err := f.retries.Hold(j.a, "taking long")
	if err != nil {
		return err
	}
	tag, ok := f.jobs.keep(j, e)
	if !ok {
		return f.retries.Done(e)
	}
	f.acknowledge([]broker.Tag{tag})
	return nil
}

// drain waits, after the pipe has ended, until everything taken in is done or given up.
func (f *Flow) drain(ctx context.Context) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if all, _ := f.jobs.len(); all == 0 && (!f.plan.ephemeral || f.retries.Len() == 0) {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// heartbeat logs the counts, so that a log shows a flow that is alive.
func (f *Flow) heartbeat(ctx context.Context) {
	every := f.cfg.Values.Duration("heartbeat")
	if every == 0 {
		return
	}
	tick := time.NewTicker(max(every, time.Second))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			n := &f.Counters
			f.host.Log.Info("heartbeat", "received", n.Received.Load(), "fetched", n.Fetched.Load(), "announced", n.Announced.Load(),
				"winnowed", n.Winnowed.Load(), "rejected", n.Rejected.Load(), "retries", f.retries.Len(), "given_up", n.GivenUp.Load())
		case <-ctx.Done():
			return
		}
	}
}
