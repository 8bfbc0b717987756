package pump

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"srpump/post"
	"srpump/post/watch"
	"srpump/pump/config"
	"srpump/pump/hook"
	"srpump/winnow"
)

// A Poster announces files: those named (sr_post), those that change (sr_watch), or those that
// appear on a server (sr_poll).
type Poster struct {
	Counters Counters

	cfg     *config.Config
	host    *Host
	maker   post.Maker
	rules   *Rules
	events  eventSet
	target  endpoint
	route   route
	queue   string // it announces to no other; empty for all who are bound
	sum     string // method; empty when sums are not computed
	cut     cutter
	reading chan struct{} // holds one for each block being read
	inline  inliner
	since   since
	cache   *winnow.Cache
	out     *announcer
	dry     func(*post.Announcement) // takes announcements in place of the broker, for Explain
	owed    owed
	hooks   *hook.Set
	watcher *watch.Watcher // tells of changes; nil for who does not wait for any
	fatal   error          // what ends everything, set once
	once    sync.Once
	cancel  context.CancelFunc
}

// NewPoster reads what a poster needs from its configuration.
func NewPoster(c *config.Config, h *Host) (*Poster, error) {
	p := &Poster{cfg: c, host: h, sum: sumOption(c), events: newEvents(c), reading: make(chan struct{}, runtime.GOMAXPROCS(0))}
	var errs [9]error // all that is wrong is said at once
	if p.target, errs[0] = h.endpoint(c, "post_broker", true); errs[0] == nil {
		p.route, errs[1] = newRoute(c, p.target, p.target)
		if queue := c.Values.String("restore_to_queue"); queue != "" && c.Preset != config.Poll && errs[1] == nil {
			p.queue, p.route = queue, detoured(c, p.route)
		}
		p.maker, errs[2] = newMaker(c, p.target, h)
	}
	p.inline = newInliner(c, p.maker.Prefix, h.Log)
	errs[3] = about("sum", checkPosterSum(p.sum))
	p.rules, errs[4] = NewRules(c.Rules, c.Final, c.AcceptsUnmatched())
	p.since, errs[5] = parseSince(c.Values.String("since"), h.Now())
	errs[5] = about("since", errs[5])
	p.hooks, errs[6] = newHooks(c, h)
	errs[7] = about("post_topic_prefix", checkPrefix(p.maker.Prefix))
	p.cut, errs[8] = newCutter(c.Values)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	return p, nil
}

// sumOption is the option sum of a poster, or what stands in its place as a header, as v02 had it for sums of
// an application.
func sumOption(c *config.Config) string {
	if add, _, err := headerOption(c); err == nil && add[post.HeaderSum] != "" {
		return add[post.HeaderSum]
	}
	return c.Values.String("sum")
}

// checkSum refuses a sum nobody could compute.
func checkSum(s string) error {
	switch s {
	case "d", "s", "n", "0", "z,d", "z,s":
		return nil
	}
	return fmt.Errorf("cannot use sum %q: it is none of d, s, n, 0, z,d and z,s", s)
}

// checkPosterSum also lets pass a sum that an application gives.
func checkPosterSum(s string) error {
	f, err := post.ParseSum(s)
	if f.Method != post.SumGiven {
		return checkSum(s)
	}
	if err == nil && f.Value == "" {
		err = errors.New("it needs a value, as a,65537")
	}
	if err != nil {
		return fmt.Errorf("cannot use sum %q: %w", s, err)
	}
	return nil
}

// start connects and opens the cache; stop undoes it.
func (p *Poster) start(ctx context.Context) (stop func(context.Context) error, err error) {
	if err := startHooks(ctx, p.hooks); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			stopHooks(ctx, p.hooks, p.host)
		}
	}()
	conn, err := p.host.open(ctx, p.target, p.cfg)
	if err != nil {
		return nil, err
	}
	leave := func(context.Context) error { return nil }
	if p.queue != "" {
		if leave, err = openDetour(ctx, conn, p.route, p.queue, p.host.Log); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	if p.out, err = newAnnouncer(ctx, conn, p.route, p.cfg, p.host, &p.Counters); err != nil {
		conn.Close()
		return nil, err
	}
	p.out.patient = p.cfg.Preset != config.Post && p.queue == ""
	if ttl := p.cfg.Values.Duration("suppress_duplicates"); ttl > 0 && p.queue == "" {
		if p.cache, err = openCache(p.cfg, p.host, winnow.One, ttl, p.cfg.State().Dir()); err != nil {
			conn.Close()
			return nil, err
		}
	}
	quiet := p.heartbeat(ctx)
	return func(ctx context.Context) error {
		quiet()
		stopHooks(ctx, p.hooks, p.host)
		err := errors.Join(p.out.close(ctx), leave(ctx))
		if p.cache != nil {
			err = errors.Join(err, p.cache.Close())
		}
		return errors.Join(err, conn.Close())
	}, nil
}

// fail ends the run with err.
func (p *Poster) fail(err error) {
	p.once.Do(func() {
		p.fatal = err
		p.cancel()
	})
}

// Post announces the files named, and everything below directories named; one named - stands
// for a list of names on standard input. What cannot be announced is logged and counted in
// Failed; the error is one that stopped the run.
func (p *Poster) Post(ctx context.Context, paths []string) error {
	ctx, p.cancel = context.WithCancel(ctx)
	defer p.cancel()
	stop, err := p.start(ctx)
	if err != nil {
		return err
	}
	p.announceSince()
	if _, err = p.walk(ctx, paths, p.since); err != nil {
		p.cancel()
	}
	flush, done := lingering(ctx, stopTime)
	defer done()
	closed := stop(flush)
	// Only now is fatal settled: a broker may refuse the last announcement too. It is why the
	// walk was cancelled, and must not be taken for a wish of the user.
	switch {
	case p.fatal != nil:
		return p.fatal
	case err != nil:
		return err
	}
	return closed
}

// lingering ends when ctx has been over for d.
func lingering(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	later, end := context.WithCancel(context.WithoutCancel(ctx))
	forget := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(d):
			end()
		case <-later.Done():
		}
	})
	return later, func() { forget(); end() }
}

// walk lists files and hands those changed since to as many readers as there are processors.
// It returns the names it did not list to their end.
func (p *Poster) walk(ctx context.Context, paths []string, from since) (rest []string, err error) {
	found := make(chan entry, 1024)
	var readers sync.WaitGroup
	for range max(runtime.NumCPU(), p.cfg.Values.Int("instances")) {
		readers.Add(1)
		go func() {
			defer readers.Done()
			for e := range found {
				p.announceEntry(ctx, e)
			}
		}()
	}
	follow := p.cfg.Values.Bool("follow_symlinks")
	rest, err = p.list(ctx, paths, func(e entry) error {
		if !from.covers(e, follow) {
			return nil
		}
		select {
		case found <- e:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	close(found)
	readers.Wait()
	return rest, err
}
