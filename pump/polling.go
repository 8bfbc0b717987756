package pump

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"srpump/post"
	"srpump/pump/config"
	"srpump/pump/poll"
	"srpump/pump/transfer"
)

// A lister lists the directories of a destination; one for each scheme.
type lister interface {
	// List yields what is in a directory, named below the destination. An error means that
	// not all was seen, so that nothing may be taken for removed.
	List(ctx context.Context, dir string, o poll.Options, yield func(poll.Entry) error) (poll.Skipped, error)
	Close() error
}

// A poller looks at a destination again and again and announces what is new.
type poller struct {
	*Poster
	from    lister
	here    *poll.Local // the same, when the destination is this host
	zone    *time.Location
	dirs    []polledDir
	every   time.Duration // between two passes; 0 makes one
	minAge  time.Duration // of a file (inflight)
	oldest  time.Duration // age beyond which files are left; 0 is none
	mask    uint32        // permissions a file must have
	vip     string
	down    map[string]bool // directories that could not be listed when last tried
	waiting bool            // without the address of vip, which was said
	pages   int             // listed in this pass
}

// Poll announces what is new at the destination until ctx ends; with sleep 0, once.
func (p *Poster) Poll(ctx context.Context) error {
	ctx, p.cancel = context.WithCancel(ctx)
	defer p.cancel()
	q, err := p.newPoller()
	if err != nil {
		return err
	}
	defer q.from.Close()
	stop, err := p.start(ctx)
	if err != nil {
		return err
	}
	if p.host.resets(p.cfg) {
		err = q.forgetAll()
	}
	if err == nil {
		p.host.ready()
		q.run(ctx)
	}
	flush, done := lingering(ctx, stopTime)
	defer done()
	closed := stop(flush)
	if p.fatal != nil {
		return p.fatal
	}
	if err != nil {
		return err
	}
	if ctx.Err() != nil && closed != nil {
		// What is not confirmed is not remembered either: the next start announces it.
		p.host.Log.Warn("announcements unconfirmed", "error", closed)
		return nil
	}
	return closed
}

// CheckPoll fails when the configuration cannot be polled with.
func (p *Poster) CheckPoll() error {
	q, err := p.newPoller()
	if err != nil {
		return err
	}
	return q.from.Close()
}

// run makes one pass after the other.
func (q *poller) run(ctx context.Context) {
	q.host.Log.Info("polling", "destination", config.Redact(q.cfg.Values.String("destination")), "directories", len(q.dirs),
		"sleep", q.every, "sum", q.sum)
	for {
		q.pass(ctx)
		if q.every <= 0 {
			return
		}
		pause := time.NewTimer(q.every)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return
		}
	}
}

// newPoller reads what a poller needs besides.
func (p *Poster) newPoller() (*poller, error) {
	v := p.cfg.Values
	q := &poller{Poster: p, every: v.Duration("sleep"), oldest: v.Duration("file_time_limit"), mask: v.Octal("chmod"), vip: v.String("vip"),
		down: make(map[string]bool)}
	p.events = eventSet{} // a removal there is none here
	var err error
	if q.minAge, err = p.minAge(); err != nil {
		return nil, err
	}
	if q.zone, err = time.LoadLocation(v.String("destination_timezone")); err != nil {
		return nil, fmt.Errorf("cannot use destination_timezone %q: %w", v.String("destination_timezone"), err)
	}
	if q.dirs, err = polledDirs(p.cfg); err != nil {
		return nil, err
	}
	return q, q.open(v.String("destination"))
}

// open makes the lister of the destination's scheme.
func (q *poller) open(destination string) error {
	u, err := url.Parse(destination)
	switch {
	case destination == "":
		return errors.New("cannot poll: destination is not set; it is the URL of the server to look at, such as https://host/")
	case err != nil:
		return errors.New("cannot poll: destination is not a URL")
	case q.polledByHook(u, isLocalURL(destination) || u.Scheme == "http" || u.Scheme == "https"):
		q.from = &hookLister{q.hooks, *u}
		q.unread()
		return nil
	case isLocalURL(destination):
		q.here = &poll.Local{Base: "/" + strings.Trim(u.Path, "/")}
		q.from = q.here
		if q.maker.BaseDir == "" && q.maker.BaseURL != post.LocalBase {
			q.maker.BaseDir = q.here.Base
		}
		return nil
	case u.Host != "" && (u.Scheme == "http" || u.Scheme == "https"):
		q.from = &poll.Web{Source: q.transports(u), Base: u, Change: q.changedPage}
		q.unread()
		return nil
	case u.Host != "" && sendsNatively(u.Scheme):
		if u, err = serverURL(q.cfg, destination); err != nil {
			return fmt.Errorf("cannot poll: %w", err)
		}
		return q.openPlace(u)
	}
	return fmt.Errorf("cannot poll %q: its scheme is none of http, https, sftp, ftp, ftps and file, nor one of do_poll", config.Redact(destination))
}

// transports are for the host of the destination alone.
func (q *poller) transports(u *url.URL) transfer.Set {
	return newTransports(q.cfg, q.host, 1, func(host string) bool { return strings.EqualFold(host, u.Hostname()) })
}

// openPlace makes the lister of a server that lists directories itself.
func (q *poller) openPlace(u *url.URL) error {
	if _, err := q.cfg.Credentials.Lookup(u.String()); err != nil {
		return fmt.Errorf("cannot poll: %w", err)
	}
	set := q.transports(u)
	source, ok := set[strings.ToLower(u.Scheme)].(transfer.Lister)
	if !ok {
		return fmt.Errorf("cannot poll %q: %w", config.Redact(u.String()), errors.ErrUnsupported)
	}
	q.from = &poll.Place{Source: source, Base: u, Free: set.Close}
	q.unread()
	return nil
}

// unread leaves to the first who fetches what is known of the file alone, and computed from its bytes: none
// are read here.
func (q *poller) unread() {
	q.maker.KeepMode, q.maker.KeepTime = false, false
	if method, _, later := strings.Cut(q.sum, ","); !later && post.NewHash(method) != nil {
		q.sum = post.SumLater + "," + method
	}
}

func isLocalURL(raw string) bool { return strings.HasPrefix(raw, "file:") }
