package poll

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"

	"srpump/pump/transfer"
)

// MaxPage is the largest page read, in bytes: ten times what nginx makes of a hundred
// thousand names.
const MaxPage = 256 << 20

// A Web lists directories over HTTP, by getting their pages.
type Web struct {
	Source transfer.Getter
	Base   *url.URL // of what directories are below

	// Change returns what is read in place of the page of the directory at a URL; nil is the page.
	Change func(ctx context.Context, at string, page io.Reader) (io.Reader, error)
}

// List yields the entries of a directory below Base, "" for Base itself. A page that
// was cut short or is too large is an error; what is wrong with single names is in Skipped.
func (w *Web) List(ctx context.Context, dir string, o Options, yield func(Entry) error) (Skipped, error) {
	at := w.page(dir)
	body, err := w.Source.Get(ctx, transfer.Whole(at.String()))
	if err != nil {
		return Skipped{}, err
	}
	defer body.Close()
	var page io.Reader = &bounded{r: body, left: MaxPage}
	if w.Change != nil {
		if page, err = w.Change(ctx, at.String(), page); err != nil {
			return Skipped{}, err
		}
	}
	return Page(page, at, o, yield)
}

// page is the URL of a directory; it ends in a slash, else the server sends us there.
func (w *Web) page(dir string) *url.URL {
	at := *w.Base
	at.RawQuery, at.Fragment = "", ""
	if dir = strings.Trim(dir, "/"); dir == "" {
		at.Path, at.RawPath = strings.TrimRight(at.Path, "/")+"/", ""
		return &at
	}
	return at.JoinPath(escaped(dir) + "/")
}

// escaped escapes each element of a path.
func escaped(dir string) string {
	elems := strings.Split(dir, "/")
	for i, e := range elems {
		elems[i] = url.PathEscape(e)
	}
	return strings.Join(elems, "/")
}

// Close gives up idle connections.
func (w *Web) Close() error { return w.Source.Close() }

// bounded fails, where io.LimitReader would make a short page of a long one.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, fmt.Errorf("the page is larger than %d bytes", int64(MaxPage))
	}
	return n, err
}
