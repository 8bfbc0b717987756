package pump

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"strings"

	"srpump/pump/hook"
	"srpump/pump/poll"
)

// A hookLister has hooks of do_poll look at a kind of server: they answer with its listing, a line for each
// name.
type hookLister struct {
	hooks *hook.Set
	base  url.URL
}

// List implements lister.
func (l *hookLister) List(ctx context.Context, dir string, o poll.Options, yield func(poll.Entry) error) (poll.Skipped, error) {
	at := l.base
	at.Path, at.RawPath = path.Join("/", at.Path, dir), ""
	if !strings.HasSuffix(at.Path, "/") {
		at.Path += "/"
	}
	e := &hook.Event{URL: at.String()}
	if ok, err := l.hooks.At(hook.DoPoll).Run(ctx, e); !ok {
		return poll.Skipped{}, undone("list", err)
	}
	text, err := l.changed(ctx, e.URL, e.Text)
	if err != nil {
		return poll.Skipped{}, err
	}
	return poll.Lines(strings.NewReader(text), o, yield)
}

// changed is a listing as the hooks of on_line make it: a line they answer false about is left out.
func (l *hookLister) changed(ctx context.Context, at, text string) (string, error) {
	chain := l.hooks.At(hook.OnLine)
	if chain.Empty() {
		return text, nil
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		e := &hook.Event{URL: at, Text: strings.TrimRight(line, "\r\n")}
		ok, err := chain.Run(ctx, e)
		switch {
		case err != nil:
			return "", err
		case !ok:
			continue
		case out.Len()+len(e.Text) > poll.MaxPage:
			return "", fmt.Errorf("cannot list: what is left of the listing is larger than %d bytes", poll.MaxPage)
		}
		out.WriteString(strings.TrimRight(e.Text, "\r\n") + "\n")
	}
	return out.String(), nil
}

// Close implements lister.
func (l *hookLister) Close() error { return nil }

// errPage is a page no hook can be given.
var errPage = errors.New("the page is too large for a hook")

// changedPage shows a page to the hooks of on_html_page, and returns what is to be read in its place.
func (q *poller) changedPage(ctx context.Context, at string, page io.Reader) (io.Reader, error) {
	chain := q.hooks.At(hook.OnHTMLPage)
	if chain.Empty() {
		return page, nil
	}
	text, err := io.ReadAll(io.LimitReader(page, hook.MaxLine+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot read %q: %w", at, err)
	case len(text) > hook.MaxLine:
		return nil, fmt.Errorf("cannot list: %w: more than %d bytes", errPage, hook.MaxLine)
	}
	e := &hook.Event{URL: at, Text: string(text)}
	if ok, err := chain.Run(ctx, e); !ok {
		return nil, undone("list", err)
	}
	return strings.NewReader(e.Text), nil
}

// polledByHook reports whether hooks of do_poll look at a kind of server.
func (q *poller) polledByHook(u *url.URL, native bool) bool {
	chain := q.hooks.At(hook.DoPoll)
	return u.Scheme != "" && u.Opaque == "" && !chain.Empty() && chain.Handles(u.Scheme, native, nil)
}
