package platform

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/temoto/robotstxt"

	"srpump/pipeline/sfm/harvest"
)

const (
	robotsPath = "/robots.txt"
	robotsMax  = 512 << 10 // bytes, RFC 9309 §2.5
	// robotsAgent is how rules name us.
	robotsAgent = "srpump"
	// robotsDelay is the longest time between two requests a server can ask for.
	robotsDelay = 30 * time.Second
)

// errForbidden is an address robots.txt forbids.
var errForbidden = errors.New("robots.txt forbids it")

// A host is one a crawler was at.
type host struct {
	root  *url.URL
	next  time.Time // when it may be asked again
	delay time.Duration
	rules *robotstxt.Group // nil until they were asked for
	dead  error            // why they cannot be had
}

func (c *crawler) host(u *url.URL) *host {
	root := &url.URL{Scheme: u.Scheme, Host: u.Host}
	h := c.hosts[root.String()]
	if h == nil {
		h = &host{root: root, delay: c.delay}
		c.hosts[root.String()] = h
	}
	return h
}

// wait waits until the host may be asked again.
func (h *host) wait(ctx context.Context, c *crawler) error {
	if d := h.next.Sub(c.w.Now()); d > 0 && d <= max(h.delay, robotsDelay) { // else the clock was set
		if err := c.w.Sleep(ctx, d); err != nil {
			return err
		}
	}
	h.next = c.w.Now().Add(h.delay)
	return nil
}

// allows asks the rules of a host. Rules that are not there allow all; rules that cannot be had
// forbid all, RFC 9309 §2.3.1.
func (h *host) allows(ctx context.Context, c *crawler, t *trip, u *url.URL) error {
	if h.rules == nil && h.dead == nil {
		err := h.ask(ctx, c, t)
		if errors.Is(err, errPrivate) {
			return fmt.Errorf("cannot fetch %q: %w", nameOf(u.String()), errPrivate)
		}
		if err != nil {
			return err
		}
	}
	if h.dead != nil {
		return fmt.Errorf("cannot fetch %q: its robots.txt cannot be had: %w", nameOf(u.String()), h.dead)
	}
	if !h.rules.Test(u.RequestURI()) {
		return fmt.Errorf("cannot fetch %q: %w", nameOf(u.String()), errForbidden)
	}
	return nil
}

// ask asks for the rules, with the rights of the trip they are for.
func (h *host) ask(ctx context.Context, c *crawler, of *trip) error {
	t := &trip{w: c.w, public: c.public, inside: of.inside, trusted: of.trusted, before: func(ctx context.Context, _ *trip, u *url.URL) error {
		return c.host(u).wait(ctx, c)
	}}
	a, err := t.to(ctx, harvest.Request{URL: h.root.String() + robotsPath, MaxBody: robotsMax, Tries: 1})
	if final(ctx, err) || errors.Is(err, errPrivate) { // another trip may have other rights
		return err
	}
	if err != nil {
		h.dead = err
		return nil
	}
	if a.Status >= http.StatusInternalServerError {
		h.dead = &statusError{status: a.Status}
		return nil
	}
	rules, err := robotstxt.FromStatusAndBytes(a.Status, a.Body)
	if err != nil { // it was no list of rules
		rules, err = robotstxt.FromBytes(nil)
	}
	if err != nil {
		return err
	}
	h.rules = rules.FindGroup(robotsAgent)
	h.delay = max(h.delay, min(h.rules.CrawlDelay, robotsDelay))
	return nil
}
