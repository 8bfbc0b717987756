package pump

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"

	"srpump/post"
	"srpump/pump/broker"
	"srpump/winnow"
)

// gather takes announcements in, in order, until ctx ends, the pipe ends (then it
// returns nil) or the broker refuses for good.
func (f *Flow) gather(ctx context.Context) error {
	for {
		if err := f.room.pass(ctx); err != nil {
			return err
		}
		select {
		case f.slots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		d, err := f.consumer.Next(ctx)
		if err != nil {
			<-f.slots
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		f.take(ctx, d)
	}
}

// take turns a delivery into a job. What cannot be understood is kept aside and
// acknowledged: it must not come again, and must not stop what follows.
func (f *Flow) take(ctx context.Context, d *broker.Delivery) {
	j := &job{tag: d.Tag, delivered: true, again: d.Redelivered || f.suspects > 0}
	if f.suspects > 0 && !restored(d) {
		f.suspects--
	}
	var err error
	j.a, err = post.Decode(d.Key, d.Headers, d.Body)
	if err == nil && j.a.Time.IsZero() { // v00 says none
		j.a.Time = post.At(f.host.Now())
	}
	if err == nil && (f.plan.saving || f.plan.posting && f.plan.route.follows()) {
		j.a.Exchange = d.Exchange
	}
	if err == nil {
		f.trustExchange(j.a, d.Exchange)
	}
	j.came = j.a
	f.jobs.add(j)
	f.Counters.Received.Add(1)
	if err != nil {
		f.Counters.Malformed.Add(1)
		f.reportMalformed(j, d.Key, err)
		f.host.Log.Error("malformed announcement kept aside", "topic", d.Key, "error", err, "file", f.DeadLetters())
		f.setAside(j, post.Message{Topic: d.Key, Headers: d.Headers, Body: d.Body}, err.Error())
		return
	}
	if f.saver != nil {
		f.saver.add(j)
		return
	}
	f.admit(ctx, j)
}

// admit decides whether a job is wanted, where its file goes and whether
// another copy of it is known or under way.
func (f *Flow) admit(ctx context.Context, j *job) {
	var err error
	if j.choice, err = f.rules.Choose(j.a); err != nil {
		f.giveUp(j, err)
		return
	}
	if !j.choice.Accept || f.plan.files && !f.obeys(j.a) {
		f.Counters.Rejected.Add(1)
		f.nothing.reject(j.choice.Line)
		if f.cfg.Values.Bool("log_reject") {
			f.host.Log.Info("rejected", "path", j.a.Path, "rule", j.choice.Line, oldLine(rejectedLine{j.a.Path, j.choice.Line}))
		}
		f.end(j, dropped)
		return
	}
	if f.tellsReceived {
		f.host.Log.Info("received", "topic", j.a.Topic, "path", j.a.Path, "announced", j.a.Time, oldLine(receivedLine{j.a.Clone()}))
	}
	if f.plan.files || f.stage != nil {
		if err := f.locate(j); err != nil {
			f.giveUp(j, err)
			return
		}
		if j.due && f.pool.full(j.source) {
			f.shelve(j, postponed)
			return
		}
	}
	f.screen(ctx, j)
}

// kindOf is the event an announcement reports, in the words of the option events.
func kindOf(a *post.Announcement) string {
	switch {
	case a.Sum.IsRemoval():
		return "delete"
	case a.Sum.IsLink():
		return "link"
	}
	return "change"
}

// obeys asks the option events. Directories made and removed are followed always, for only who is
// asked to announces them; a move is, where one of its halves is.
func (f *Flow) obeys(a *post.Announcement) bool {
	switch {
	case a.Sum.Method == post.SumMkdir, a.Sum.Method == post.SumRmdir:
		return true
	case a.Sum.IsRemoval() && a.Header(post.HeaderNewname) != "":
		return f.events["delete"] || f.events["change"]
	}
	return f.events[kindOf(a)]
}

// locate finds out where to fetch from and where to put it, and refuses what an
// announcement has no right to ask for.
func (f *Flow) locate(j *job) (err error) {
	if !f.plan.files {
		return f.standing(j)
	}
	mode := f.plan.baseMode
	if _, known := f.joined.Load(j.a.Base); known {
		mode = post.BasePrefix
	}
	if j.from, err = j.a.Retrieval(mode); err != nil {
		return err
	}
	if f.plan.root != "" {
		if j.from, err = f.localCopy(j.a, j.from); err != nil {
			return err
		}
	}
	if j.from.Second != "" {
		if j.second, err = f.place.Place(j.a, &j.choice, j.from.SecondPath); err != nil {
			return err
		}
	}
	if j.at, err = f.place.Place(j.a, &j.choice, j.from.Path); err != nil {
		return err
	}
	if err := f.placeParts(j); err != nil {
		return err
	}
	f.moving(j)
	f.hints.place(f.host.Log, j)
	if j.from.Local != "" {
		j.source = "localhost"
		return f.mayReadLocal()
	}
	u, err := url.Parse(j.from.URL)
	if err != nil {
		return fmt.Errorf("%w: %w", post.ErrMalformed, err)
	}
	j.source = u.Host
	return nil
}

// errLocal is an announcement that asks for a file of this host.
var errLocal = errors.New("a file of this host: from a broker others announce on, such files are read only below base_dir, which is not set")

// mayReadLocal: file: is only for announcements that come from this host, for those a sr_sender
// is to deliver, and for files below the directory the operator names.
func (f *Flow) mayReadLocal() error {
	switch {
	case f.cfg.Values.String("base_dir") != "":
		return nil
	case !f.plan.from.isLocal() && !f.plan.from.isPipe() && f.plan.root == "":
		return errLocal
	}
	f.hints.unbounded.Do(func() {
		f.host.Log.Warn("files of this host are read wherever they are announced", "hint", "base_dir bounds it to one directory")
	})
	return nil
}

// winnow asks the cache, and goes on with what is fresh.
func (f *Flow) winnow(ctx context.Context, j *job) {
	if f.cache == nil || j.due && f.assembles(j.a) { // the journal knows better what is here
		f.proceed(ctx, j)
		return
	}
	for {
		v, token := f.cache.Offer(j.a)
		j.mu.Lock()
		j.token, j.held, j.parked = token, v == winnow.Fresh, v == winnow.Held
		j.mu.Unlock()
		switch v {
		case winnow.Fresh:
			f.proceed(ctx, j)
			return
		case winnow.Duplicate:
			f.winnowed(j)
			return
		}
		if f.cache.Park(token, func(promoted bool) { f.unpark(ctx, j, promoted) }) {
			return
		}
	}
}

// unpark goes on with a parked copy: its holder failed, or is done.
func (f *Flow) unpark(ctx context.Context, j *job, promoted bool) {
	j.mu.Lock()
	over := j.over
	if !over {
		j.parked, j.held = false, promoted
	}
	j.mu.Unlock()
	if over {
		f.cache.Release(j.token) // it went to disk while it waited; the next copy's turn
		return
	}
	if !promoted {
		f.winnowed(j)
		return
	}
	go f.proceed(ctx, j) // it may wait, and whoever released the holder must not
}

func (f *Flow) winnowed(j *job) {
	f.Counters.Winnowed.Add(1)
	f.host.Log.Debug("winnowed", "path", j.a.Path, "sum", j.a.Sum)
	f.report(j, codeNotModified, "Not modified1")
	f.end(j, dropped)
}

// proceed hands a job to the workers when its paths are free, or passes the announcement on.
func (f *Flow) proceed(ctx context.Context, j *job) {
	if !f.plan.files && f.stage == nil {
		f.forward(ctx, j)
		return
	}
	j.turn = &turn{run: func() { f.pool.add(ctx, j) }, with: f.sharing(j)}
	f.order.enter(j.turn, f.touches(j)...)
}
