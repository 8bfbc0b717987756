package platform

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/harvest"
	"srpump/pipeline/warc"
)

const (
	// webDelay is the time between two requests to one host, and webPatience how long one
	// address may take, redirections and all.
	webDelay    = time.Second
	webPatience = 2 * time.Minute
	// webMax is how much of an address is taken, in bytes.
	webMax = 64 << 20
	// webWarnings is how many addresses are told of one by one.
	webWarnings = 50
	// webDigests is how many payloads of a collection are remembered to be recognised.
	webDigests = 50_000
)

// web harvests addresses, such as those found in what another harvest has recorded: each once,
// with the redirections on the way. What a server's robots.txt forbids is left out, RFC 9309; a
// payload the collection has already becomes a revisit record.
func web() *harvest.Type { return webTo(public) }

// webTo is web with another rule for which addresses are public.
func webTo(public func(netip.Addr) bool) *harvest.Type {
	return &harvest.Type{Name: sfm.TypeWeb, Service: "Web Harvester", Module: "web_harvester", MinSeeds: 1, MaxSeeds: -1, Apart: true, Check: plainTokens,
		Walk: func(ctx context.Context, w *harvest.Walk) error {
			c := &crawler{w: w, public: public, hosts: make(map[string]*host), max: amount(w, "max_bytes", webMax), obey: w.Flag("robots", true),
				delay: duration(w, "delay", webDelay), patience: duration(w, "timeout", webPatience)}
			w.State("digests", &c.digests)
			return c.walk(ctx)
		}}
}

// duration is a number of seconds of the request.
func duration(w *harvest.Walk, name string, preset time.Duration) time.Duration {
	d, err := time.ParseDuration(w.Option(name) + "s")
	if err != nil || d < 0 {
		return preset
	}
	return d
}

// A crawler walks from address to address.
type crawler struct {
	w               *harvest.Walk
	public          func(netip.Addr) bool
	max             int64
	obey            bool
	delay, patience time.Duration
	hosts           map[string]*host
	digests         int // how many are remembered
	count           tally
}

// A tally is how far a walk has come: the addresses that were visited, and how that went.
type tally struct {
	Fetched, Known, Forbidden, Failed int
	Out                               int // of the failed, those that may be there at another time
}

func (t tally) visited() int { return t.Fetched + t.Known + t.Forbidden + t.Failed }

// byTurns is the seeds in an order in which those of one host are as far apart as can be, so that
// the pause for one host is the time of the others.
func byTurns(w *harvest.Walk, seeds []sfm.Seed) []sfm.Seed {
	var hosts []string // in the order they are named
	of := make(map[string][]sfm.Seed)
	for _, seed := range seeds {
		host := ""
		if u, err := url.Parse(webAddress(w, seed)); err == nil {
			host = u.Host
		}
		if of[host] == nil {
			hosts = append(hosts, host)
		}
		of[host] = append(of[host], seed)
	}
	turns := make([]sfm.Seed, 0, len(seeds))
	for round := 0; len(turns) < len(seeds); round++ {
		hosts = slices.DeleteFunc(hosts, func(host string) bool { return len(of[host]) <= round })
		for _, host := range hosts {
			turns = append(turns, of[host][round])
		}
	}
	return turns
}

// walk visits the seeds. A walk that was interrupted goes on behind the last one that was visited.
func (c *crawler) walk(ctx context.Context) error {
	key, seeds := "visited@"+c.w.Start().ID, byTurns(c.w, c.w.Start().Seeds)
	c.w.State(key, &c.count)
	for _, seed := range seeds[min(c.count.visited(), len(seeds)):] {
		if err := c.visit(ctx, seed); err != nil {
			return err
		}
		c.w.Keep(key, c.count)
		if err := c.w.Next(ctx); err != nil {
			return err
		}
	}
	c.w.Keep(key, nil)
	n := c.count
	if n.Out > 0 && n.Out == n.visited() {
		return fmt.Errorf("cannot fetch any of the %d addresses", n.Out)
	}
	c.w.Info("web_fetched", fmt.Sprintf("%d addresses fetched, %d more with content known before, %d forbidden by robots.txt, %d failed",
		n.Fetched, n.Known, n.Forbidden, n.Failed), "")
	return nil
}

// visit fetches one address. Its trouble is its own: the walk goes on.
func (c *crawler) visit(ctx context.Context, seed sfm.Seed) error {
	t := &trip{w: c.w, public: c.public, inside: c.w.Flag("private_addresses", false), trusted: c.w.Start().ParentID == "", before: c.before}
	mine, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	known := false
	header := http.Header{}
	if agent := c.w.Option("user_agent"); agent != "" {
		header.Set("User-Agent", agent)
	}
	a, err := t.to(mine, harvest.Request{URL: webAddress(c.w, seed), Header: header, MaxBody: c.max, Tries: 1,
		Seen: func(digest, _ string) *warc.Record {
			first := c.first(digest)
			known = first != nil
			return first
		}})
	switch {
	case final(ctx, err):
		return err
	case errors.Is(err, errForbidden):
		c.count.Forbidden++
	case errors.Is(err, errPrivate), errors.Is(err, errAddress), errors.Is(err, errCircle):
		c.fail(seed, err.Error())
	case errors.Is(err, context.DeadlineExceeded):
		c.count.Out++
		c.fail(seed, fmt.Sprintf("cannot fetch %q: it takes longer than %v", nameOf(webAddress(c.w, seed)), c.patience))
	case err != nil:
		c.count.Out++
		c.fail(seed, err.Error())
	case a.Status >= 400:
		c.fail(seed, fmt.Sprintf("cannot get %q: the answer is %d %s", nameOf(a.URL), a.Status, http.StatusText(a.Status)))
	case known:
		c.count.Known++
	default:
		c.count.Fetched++
		c.remember(a)
	}
	return nil
}

// fail tells of an address, unless there are so many that no one would read it.
func (c *crawler) fail(seed sfm.Seed, why string) {
	if c.count.Failed++; c.count.Failed <= webWarnings {
		c.w.Warn("web_failed", why, seed.ID)
	}
}

// first is the record that holds a payload of the collection.
func (c *crawler) first(digest string) *warc.Record {
	var known string
	if !c.w.State(digest, &known) {
		return nil
	}
	f := strings.SplitN(known, " ", 3)
	if len(f) != 3 {
		return nil
	}
	return &warc.Record{Version: warc.V10, Fields: warc.Fields{{Name: warc.FieldDate, Value: f[0]}, {Name: warc.FieldID, Value: f[1]},
		{Name: warc.FieldURI, Value: f[2]}, {Name: warc.FieldPayloadDigest, Value: digest}}}
}

// remember keeps where a payload is. Without a payload there is nothing to recognise.
func (c *crawler) remember(a *harvest.Answer) {
	if a.Status != http.StatusOK || a.Cut || len(a.Body) == 0 || c.digests >= webDigests {
		return
	}
	c.digests++
	c.w.Keep("digests", c.digests)
	c.w.Keep(a.Digest, strings.Join([]string{a.Record.Fields.Get(warc.FieldDate), a.Record.ID(), a.Record.URI()}, " "))
}

// before is asked before each hop: may it be asked, and is it time?
func (c *crawler) before(ctx context.Context, t *trip, u *url.URL) error {
	h := c.host(u)
	if c.obey && u.EscapedPath() != robotsPath {
		if err := h.allows(ctx, c, t, u); err != nil {
			return err
		}
	}
	return h.wait(ctx, c)
}
