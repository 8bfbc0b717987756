package pump

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"srpump/post"
	"srpump/pump/broker"
	"srpump/pump/fetch"
	"srpump/pump/hook"
	"srpump/pump/retry"
	"srpump/pump/transfer"
)

// failed puts a job that could not be done on disk, to be tried again; only then
// is its delivery acknowledged.
func (f *Flow) failed(ctx context.Context, j *job, err error) {
	if ctx.Err() != nil {
		return // stopped: it comes again at the next start
	}
	if later := new(hook.LaterError); errors.As(err, &later) {
		f.await(ctx, j, later.Wait)
		return
	}
	class := classOf(err)
	if class == retry.Hopeless || !f.cfg.Values.Bool("retry") {
		f.giveUp(j, err)
		return
	}
	f.reportFailed(j)
	gone, werr := f.putBack(j, class, err)
	switch {
	case werr != nil:
		f.unwritten(ctx, j, werr)
	case gone:
		f.Counters.GivenUp.Add(1)
		f.host.Log.Error("given up", "path", j.at.Full(), "url", j.url(), "error", err, "file", f.DeadLetters(), blockOf(j))
	default:
		f.Counters.Retried.Add(1)
		f.host.Log.Warn("retry", "path", j.at.Full(), "url", j.url(), "class", class, "error", err, blockOf(j))
	}
}

// blockOf says in a log which block of its file an announcement is of; nothing of whole files.
func blockOf(j *job) slog.Attr {
	if !inBlocks(j.a) {
		return slog.Attr{}
	}
	return slog.GroupAttrs("", slog.Int64("block", j.a.Block.Number), slog.Int64("of", j.a.Block.Count))
}

// putBack writes a failed job to the retry queue, or with gone to the dead-letter
// file, and ends it.
func (f *Flow) putBack(j *job, class retry.Class, why error) (gone bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.over {
		return false, nil
	}
	if e := f.jobs.entry(j); e != nil {
		gone, err = f.retries.Fail(e, class, why.Error())
	} else {
		gone, err = f.retries.Add(j.came, class, why.Error())
	}
	if err == nil {
		j.over = true
		f.finish.add(j, shelved)
	}
	return gone, err
}

// shelve ends a job that is on disk and was not begun; it is due again after a while.
func (f *Flow) shelve(j *job, d time.Duration) {
	f.retries.Postpone(f.jobs.entry(j), d)
	f.end(j, shelved)
}

// postponed is how long what waits for a busy host waits on disk.
const postponed = 10 * time.Second

// writeAgain is the pause before a full or failing disk is tried again.
const writeAgain = 10 * time.Second

// unwritten: neither done nor on disk. It is tried again as it is, for as long
// as the disk takes nothing.
func (f *Flow) unwritten(ctx context.Context, j *job, err error) {
	f.host.Log.Error("retry queue not written, trying again", "path", j.a.Path, "error", err)
	f.later(func() { f.resume(ctx, j) })
}

// resume goes on with a job where it failed: never past a hook that has not answered.
func (f *Flow) resume(ctx context.Context, j *job) {
	switch {
	case f.screens() && !j.screened:
		f.screen(ctx, j)
	case !f.plan.files && f.stage == nil:
		f.forward(ctx, j)
	default:
		f.pool.add(ctx, j)
	}
}

// later does something after a pause, unless the flow is stopped before: then whatever it is about
// comes again at the next start, and the disk may be another run's.
func (f *Flow) later(do func()) {
	if f.life.Err() != nil {
		return
	}
	f.pauses.Go(func() {
		pause := time.NewTimer(writeAgain)
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-f.life.Done():
		}
		if f.life.Err() == nil {
			do()
		}
	})
}

// giveUp keeps aside what can never be done.
func (f *Flow) giveUp(j *job, err error) {
	f.host.Log.Error("given up", "path", j.a.Path, "topic", j.a.Topic, "error", err, "file", f.DeadLetters(), blockOf(j))
	f.lose(j, err)
}

// lose is giveUp for what it was said of.
func (f *Flow) lose(j *job, err error) {
	f.Counters.GivenUp.Add(1)
	f.report(j, codeGivenUp, "Unable to process")
	m, encErr := post.Encode(j.came)
	if encErr != nil {
		m = post.Message{Topic: j.came.Topic, Headers: j.came.Headers, Body: []byte(j.came.Text())}
	}
	f.setAside(j, m, err.Error())
}

// setAside writes a message to the dead-letter file, and ends its job once it is there.
func (f *Flow) setAside(j *job, m post.Message, why string) {
	if err := f.retries.DeadLetter().Write(m.Topic, m.Headers, m.Body, why, f.host.Now()); err != nil {
		f.host.Log.Error("dead letter not written, trying again", "topic", m.Topic, "error", err)
		f.later(func() { f.setAside(j, m, why) })
		return
	}
	f.end(j, dropped)
}

// classOf tells failures that may pass from those that will not.
func classOf(err error) retry.Class {
	var te *transfer.Error
	var fe *fetch.Error
	switch {
	case errors.Is(err, errNeverFits), errors.Is(err, errMismatch), errors.Is(err, hook.ErrAnswer), errors.Is(err, errStageMade) && errors.Is(err, fs.ErrNotExist):
		return retry.Permanent
	case errors.Is(err, hook.ErrUnfit):
		return retry.Hopeless
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
		case transfer.Refused, transfer.Unsupported:
			return retry.Hopeless
		}
	}
	return retry.Temporary
}

// retryEvery is how often the retry queue is looked at.
const retryEvery = 50 * time.Millisecond

// retryIdle is the same while it is empty: an idle flow must cost nothing.
const retryIdle = time.Second

func retryPause(waiting int) time.Duration {
	if waiting == 0 {
		return retryIdle
	}
	return retryEvery
}

// retryLoop takes in again what is due, as much as there are workers for.
func (f *Flow) retryLoop(ctx context.Context) {
	pause := retryEvery
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if every := retryPause(f.retries.Len()); every != pause {
			pause = every
			tick.Reset(every)
		}
		f.retries.Obey(f.obeyed)
		f.retryDue(ctx, f.host.Now())
	}
}

// obeyed says what somebody had done with what waits and what was given up.
func (f *Flow) obeyed(o retry.Order, out retry.Outcome) {
	f.host.Log.Info("retry queue changed", "order", o.Do, "patterns", o.Patterns, "waiting", out.Waiting, "dead", out.Dead, "left", out.Left, "error", out.Error)
}

// retryDue takes in what is due at a time. What another host is to do is left alone.
func (f *Flow) retryDue(ctx context.Context, now time.Time) {
	if f.standby.waiting() || f.room.paused() {
		return
	}
	_, due := f.jobs.len()
	for _, e := range f.retries.Due(now, f.dueAtOnce()-due) {
		j := &job{a: e.Announcement, came: e.Announcement, kept: e, again: true, due: true}
		f.jobs.add(j)
		f.admit(ctx, j)
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
	tick, expire := time.NewTicker(spillEvery), time.NewTicker(expireEvery)
	defer tick.Stop()
	defer expire.Stop()
	for {
		select {
		case <-expire.C:
			f.expireBlocks(f.host.Now().Add(-f.cfg.Values.Duration("retry_ttl")))
		case <-tick.C:
			f.spill(time.Now().Add(-spillAfter))
			f.stage.relieve() // the disk may have refused before
			f.hintEqualSums()
		case <-ctx.Done():
			return
		}
	}
}

// spill goes on until the disk refuses; then it comes again.
func (f *Flow) spill(before time.Time) {
	for _, j := range f.jobs.since(before) {
		if err := f.spillJob(j); err != nil {
			f.host.Log.Error("not moved to disk", "path", j.came.Path, "error", err)
			return
		}
	}
}

// spillJob moves one job to disk, and what is not begun out of memory.
func (f *Flow) spillJob(j *job) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.over {
		return nil
	}
	if err := f.toDisk(j); err != nil {
		return err
	}
	if j.parked || f.pool.withdraw(j) || f.stage.withdraw(j) || f.room.withdraw(j) {
		f.retries.Postpone(f.jobs.entry(j), postponed)
		j.over = true
		f.finish.add(j, shelved)
	}
	return nil
}

// toDisk has the retry queue keep a job that goes on, and acknowledges it. The job's lock is held.
func (f *Flow) toDisk(j *job) error {
	if f.jobs.entry(j) != nil {
		return nil
	}
	e, err := f.retries.Hold(j.came, "taking long")
	if err == nil {
		f.acknowledge([]broker.Tag{f.jobs.keep(j, e)})
	}
	return err
}

// errDropped is a pipe whose announcements nobody keeps.
var errDropped = errors.New("stopped before everything read was done")

// keepRead puts what was read from a pipe and is not done on disk, for a pipe does not give
// it again.
func (f *Flow) keepRead() {
	if f.plan.ephemeral {
		f.tellDropped(f.unkept() + f.retries.Len())
		return
	}
	dropped := 0
	for _, j := range f.jobs.since(time.Now()) {
		j.mu.Lock()
		if !j.over && f.jobs.entry(j) == nil {
			if e, err := f.retries.Hold(j.came, "stopped"); err != nil {
				f.host.Log.Error("not moved to disk", "path", j.came.Path, "error", err)
				dropped++
			} else {
				f.jobs.keep(j, e)
			}
		}
		j.mu.Unlock()
	}
	f.tellDropped(dropped)
}

// unkept is how many jobs are not done, and not in the retry queue.
func (f *Flow) unkept() (n int) {
	for _, j := range f.jobs.since(time.Now()) {
		j.mu.Lock()
		if !j.over && f.jobs.entry(j) == nil {
			n++
		}
		j.mu.Unlock()
	}
	return n
}

// tellDropped ends the flow with how many announcements nobody keeps.
func (f *Flow) tellDropped(n int) {
	switch {
	case n == 1:
		f.fail(fmt.Errorf("%w: 1 announcement", errDropped))
	case n > 1:
		f.fail(fmt.Errorf("%w: %d announcements", errDropped, n))
	}
}

// drain waits, after the pipe has ended, until everything taken in is done or given up.
func (f *Flow) drain(ctx context.Context) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if all, _ := f.jobs.len(); all == 0 && (!f.plan.ephemeral || f.retries.Len() == 0) {
			return
		}
		f.stage.rest()
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
	f.wonder()
	for {
		select {
		case <-tick.C:
			f.wonder()
			beat(ctx, f.hooks, hook.OnHeartbeat, f.host)
			n := &f.Counters
			f.host.Log.Info("heartbeat", "received", n.Received.Load(), "fetched", n.Fetched.Load(), "announced", n.Announced.Load(),
				"winnowed", n.Winnowed.Load(), "rejected", n.Rejected.Load(), "retries", f.retries.Len(), "given_up", n.GivenUp.Load(), f.stage.counts())
		case <-ctx.Done():
			return
		}
	}
}
