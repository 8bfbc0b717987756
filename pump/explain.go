package pump

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"srpump/post"
	"srpump/pump/broker"
	"srpump/pump/broker/pipe"
	"srpump/pump/config"
	"srpump/pump/hook"
	"srpump/pump/transfer"
)

// An Explanation is what would become of one announcement, or of one path.
type Explanation struct {
	Text     string // what the patterns are matched against
	Rule     string // file:line of the deciding rule; empty when none matches
	Accepted bool
	Events   bool // it is rejected because of the option events

	Source    string // where it would be fetched from
	Second    string // where else, if it is not there
	Suggested string // what it wants to be called
	Steps     *Steps // where it would be placed; nil when nothing would
	Delivered string // the URL it would have at the destination of a sr_sender
	Refused   error  // why it would be given up
	Stage     string // the filter it would be given to

	Hooks  []string // those that would see it and may change all this, each with its option in front
	Posted []Posted // what would be announced
}

// A Posted is one announcement that would be made.
type Posted struct {
	Exchange, Topic, Line string
	Headers               map[string]any
}

// Explain says what would become of a path (sr_post and sr_watch), or of a URL, an announcement as
// outlet json prints it, or with - of each line of standard input, by the code of the flow itself.
// Nothing is opened, fetched or published. The error is the first that left something unexplained.
func Explain(ctx context.Context, c *config.Config, h *Host, what string, each func(*Explanation)) error {
	if c.Preset&posts != 0 {
		e, err := explainPath(ctx, c, h, what)
		if err == nil {
			each(e)
		}
		return err
	}
	f, err := NewFlow(c, h.quiet())
	if err != nil {
		return err
	}
	in, prefix := h.Stdin, c.Values.String("topic_prefix")
	switch {
	case strings.HasPrefix(what, "["), strings.HasPrefix(what, "{"):
		in = strings.NewReader(what + "\n")
	case what != "-":
		a, err := fromURL(what, prefix, h)
		if err == nil {
			each(f.explain(a))
		}
		return err
	}
	return fromLines(ctx, in, prefix, h, func(a *post.Announcement) { each(f.explain(a)) })
}

// explain says what the flow would do with an announcement.
func (f *Flow) explain(a *post.Announcement) *Explanation {
	var err error
	j := &job{a: a, came: a, sum: a.Sum, block: a.Block}
	e := &Explanation{Text: matched(a)}
	if j.choice, err = f.rules.Choose(a); err != nil {
		e.Refused = err
		return e
	}
	e.Rule, e.Accepted = j.choice.Line, j.choice.Accept
	if e.Accepted && f.plan.files && !f.events[kindOf(a)] {
		e.Accepted, e.Events = false, true
	}
	if !e.Accepted {
		return e
	}
	if f.plan.files {
		f.explainPlace(e, j)
	}
	e.Hooks = f.seers(j)
	v := f.cfg.Values
	if isFile(a) && e.Refused == nil {
		e.Stage = config.RedactCommand(v.String("stage"))
	}
	if !f.plan.posting || e.Refused != nil || v.String("stage") != "" && !v.Bool("stage_keep") {
		return e
	}
	out := f.passedOn(a)
	if f.plan.files {
		if inBlocks(a) {
			j.block = f.announcedBlock(a, a.Size())
		}
		out = f.copied(j)
	}
	f.dress(out)
	e.add(f.plan.route.of(out), out)
	return e
}

func (f *Flow) explainPlace(e *Explanation, j *job) {
	e.Refused = f.locate(j)
	e.Source, e.Second, e.Suggested = j.from.URL, transfer.Redact(j.from.Second), j.from.Path
	if j.from.Local != "" || j.from.URL != "" {
		e.Source = j.url()
		steps, _ := f.place.Steps(j.a, &j.choice, j.from.Path)
		if e.Refused == nil {
			steps.Place = j.at
			e.Refused = f.refusesBlock(j)
		}
		e.Steps = &steps
		if f.plan.root != "" && steps.Place != (Place{}) {
			e.Delivered = config.Redact(f.plan.deliveredURL(steps.Place))
		}
	}
	if e.Refused == nil && j.from.Local == "" && !j.a.Sum.IsRemoval() && !j.a.Sum.IsLink() {
		e.Refused = f.mayFetch(j)
	}
}

// mayFetch is why a file is not fetched from where it is announced, whatever is there.
func (f *Flow) mayFetch(j *job) error {
	u, err := url.Parse(j.from.URL)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", post.ErrMalformed, err)
	case !fetchesNatively(u.Scheme) && f.handling(fetchPoints(), u.Scheme, false, j) == nil:
		return fmt.Errorf("no transport for this kind of URL: %s", u.Scheme)
	case !f.allows(u.Hostname()):
		return fmt.Errorf("host %q is not one of allow_hosts", u.Hostname())
	}
	return nil
}

// add adds what would be published.
func (e *Explanation) add(exchange string, a *post.Announcement) {
	m, err := post.Encode(a)
	if err != nil {
		e.Refused = err
		return
	}
	line, _, _ := strings.Cut(string(m.Body), "\n")
	e.Posted = append(e.Posted, Posted{exchange, m.Topic, line, m.Headers})
}

// explainPath says what a poster would announce of a file. The file is read for its checksum;
// nothing is published.
func explainPath(ctx context.Context, c *config.Config, h *Host, path string) (*Explanation, error) {
	p, err := NewPoster(c, h.quiet())
	if err != nil {
		return nil, err
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(h.Cwd, path)
	}
	probe := p.probe(path)
	e := &Explanation{Text: matched(probe)}
	choice, err := p.rules.Choose(probe)
	if err != nil {
		e.Refused = err
		return e, nil
	}
	e.Rule, e.Accepted = choice.Line, choice.Accept
	en := entry{path: path}
	if info, err := os.Lstat(path); err == nil {
		en.info = info
	}
	if e.Accepted && !p.wanted(en) {
		e.Accepted, e.Events = false, true
	}
	if e.Accepted {
		e.Hooks = seenAt(p.hooks, []string{hook.OnPost})
		p.dry = func(a *post.Announcement) { e.add(p.route.of(a), a) }
		e.Refused = p.announce(ctx, en)
	}
	return e, nil
}

// fromURL is the announcement of a file at a URL, as the patterns of a flow see it.
func fromURL(raw, prefix string, h *Host) (*post.Announcement, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme == "" {
		return nil, fmt.Errorf("cannot explain %q: it is neither a URL nor an announcement", config.Redact(raw))
	}
	a := &post.Announcement{Time: post.At(h.Now()), Base: u.Scheme + "://" + u.Host + "/", Path: strings.TrimPrefix(u.Path, "/")}
	if u.Scheme == "file" {
		a.Base, a.Path = post.LocalBase, u.Path
	}
	if prefix == "" {
		prefix = post.DefaultPrefix
	}
	a.Topic, a.Sum = post.MakeTopic(prefix, a.Path, true), post.NoSum()
	return a, nil
}

// fromLines hands over each announcement of lines, JSON or a URL; the first line that is neither is the error.
func fromLines(ctx context.Context, r io.Reader, prefix string, h *Host, each func(*post.Announcement)) error {
	in, err := pipe.New(r, io.Discard, h.quiet().Log).Consume(ctx, "", broker.ConsumeOptions{})
	if err != nil {
		return err
	}
	defer in.Close()
	var first error
	for {
		d, err := in.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return first
		case err != nil:
			return err
		}
		a, err := post.Decode(d.Key, d.Headers, d.Body)
		if line := strings.TrimSpace(string(d.Body)); err != nil && d.Key == "" && strings.Contains(line, "://") {
			a, err = fromURL(line, prefix, h)
		}
		if err == nil {
			each(a)
		} else if first == nil {
			first = fmt.Errorf("line %d: %w", d.Tag.N, err)
		}
	}
}
