package pump

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"srpump/post"
	"srpump/pump/broker"
	"srpump/pump/config"
	"srpump/pump/hook"
)

// A reporter publishes what became of announcements to the broker they came from
// (sr_post(7), THE REPORT). Reports are best effort: nothing waits for them, and what cannot
// be published is dropped and counted.
type reporter struct {
	exchange   string
	host, user string
	log        *slog.Logger
	hooks      *hook.Chain // of on_report
	lines      chan *post.Announcement
	over       sync.WaitGroup
	life       context.Context
	end        context.CancelFunc

	mu      sync.Mutex
	closed  bool
	said    bool // that reports are lost
	dropped int
	until   time.Time // after a refusal, nothing is published before
}

// reportsWaiting is how many reports may wait for the broker: more than there are
// announcements on their way, each of which makes three at most.
const reportsWaiting = 4 * prefetchNoFiles

// reportPause is how long an exchange that refused reports is left alone.
const reportPause = time.Minute

// reportExchange is where reports go: as configured, xreport for the users a pump works as and
// on the local broker, which has no users, else xs_<user>.
func reportExchange(c *config.Config, e endpoint) string {
	if x := c.Values.String("report_exchange"); x != "" {
		return x
	}
	if e.user == "" || ownUser(c, e.user) {
		return "xreport"
	}
	return "xs_" + e.user
}

// ownUser reports whether the pump itself works as this user: manager or admin.
func ownUser(c *config.Config, user string) bool {
	for _, option := range []string{"manager", "admin"} {
		if raw := c.Values.String(option); raw != "" {
			if cred, err := c.Credentials.Broker(raw, false); err == nil && cred.User == user {
				return true
			}
		}
	}
	return false
}

// newReporter starts a reporter on a connection that open makes; it does not wait for it.
func newReporter(ctx context.Context, c *config.Config, h *Host, hooks *hook.Chain, from endpoint, open func(context.Context) (broker.Conn, error)) *reporter {
	r := &reporter{exchange: reportExchange(c, from), host: h.Hostname, user: from.user, log: h.Log, hooks: hooks, lines: make(chan *post.Announcement, reportsWaiting)}
	r.life, r.end = context.WithCancel(context.WithoutCancel(ctx))
	declare := c.Values.Bool("declare_exchange")
	r.over.Go(func() { r.run(open, declare) })
	return r
}

// add reports about a. It never waits.
func (r *reporter) add(a *post.Announcement, began time.Time, code int, text string) {
	out := a.Reported(post.Report{Code: code, Host: r.host, User: r.user, Elapsed: time.Since(began)}, text)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	select {
	case r.lines <- out:
	default:
		r.lose(nil)
	}
}

// lose counts a report that is dropped, and says so once. The caller holds r.mu.
func (r *reporter) lose(err error) {
	r.dropped++
	if !r.said {
		r.said = true
		r.log.Warn("reports dropped", "exchange", r.exchange, "error", err, "hint", reportHint(err))
	}
}

func reportHint(err error) string {
	if hint := broker.Hint(err); hint != "" {
		return hint + "; or report_back off"
	}
	return "report_back off ends it"
}

// run publishes until close, and then what is left as long as the time of close allows.
func (r *reporter) run(open func(context.Context) (broker.Conn, error), declare bool) {
	conn, err := open(r.life)
	if err == nil && declare {
		err = declareQuietly(r.life, conn, r.exchange)
	}
	var pub broker.Publisher
	if err == nil {
		pub, err = conn.Publisher(r.life, broker.PublishOptions{Window: publishWindow})
	}
	for a := range r.lines {
		if err == nil {
			r.publish(pub, a)
			continue
		}
		r.mu.Lock()
		r.lose(err)
		r.mu.Unlock()
	}
	var errs []error
	if pub != nil {
		errs = append(errs, pub.Flush(r.life), pub.Close())
	}
	if conn != nil {
		errs = append(errs, conn.Close())
	}
	if err := errors.Join(errs...); err != nil && r.life.Err() == nil {
		r.log.Debug("reports ended with errors", "error", err)
	}
}

// declareQuietly makes the exchange of reports when it is missing; a refusal shows when
// something is published.
func declareQuietly(ctx context.Context, conn broker.Conn, exchange string) error {
	err := conn.DeclareExchange(ctx, broker.Exchange{Name: exchange, Passive: true})
	if errors.Is(err, broker.ErrNotFound) {
		err = conn.DeclareExchange(ctx, broker.Exchange{Name: exchange})
	}
	if errors.Is(err, broker.ErrRefused) || errors.Is(err, broker.ErrPrecondition) {
		return nil
	}
	return err
}

func (r *reporter) publish(pub broker.Publisher, a *post.Announcement) {
	if ok, err := r.hooks.Run(r.life, &hook.Event{Announcement: a}); !ok {
		if err != nil {
			r.published(err)
		}
		return
	}
	m, err := post.Encode(a)
	if err == nil && !r.paused() {
		err = pub.Publish(r.life, broker.Publishing{Exchange: r.exchange, Key: m.Topic, Headers: m.Headers, Body: m.Body,
			ContentType: m.ContentType, ContentEncoding: post.ContentEncoding}, r.published)
	}
	if err != nil {
		r.published(err)
	}
}

// published notes how it went. An exchange that refused is left alone for a while, for each
// question costs the broker a channel.
func (r *reporter) published(err error) {
	if err == nil || errors.Is(err, broker.ErrClosed) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if errors.Is(err, broker.ErrNotFound) || errors.Is(err, broker.ErrRefused) {
		r.until = time.Now().Add(reportPause)
	}
	r.lose(err)
}

// paused reports whether the exchange refused lately; then the report is dropped.
func (r *reporter) paused() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !time.Now().Before(r.until) {
		return false
	}
	r.dropped++
	return true
}

// close publishes what is left, as long as ctx lasts.
func (r *reporter) close(ctx context.Context) {
	r.mu.Lock()
	r.closed = true
	close(r.lines)
	r.mu.Unlock()
	stop := context.AfterFunc(ctx, r.end)
	r.over.Wait()
	stop()
	r.end()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dropped > 1 {
		r.log.Warn("reports dropped", "exchange", r.exchange, "count", r.dropped)
	}
}
