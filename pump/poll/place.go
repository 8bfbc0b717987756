package poll

import (
	"context"
	"io/fs"
	"net/url"
	"path"
	"strings"
	"time"

	"srpump/pump/transfer"
)

// A Place lists directories of a server by a transport that can: SFTP and FTP.
type Place struct {
	Source transfer.Lister
	Base   *url.URL // of what directories are below
	Free   func() error
}

// List yields the entries of a directory below Base, "" for Base itself. What is wrong with single
// names is in Skipped.
func (p *Place) List(ctx context.Context, dir string, o Options, yield func(Entry) error) (Skipped, error) {
	r := &reading{o: o, yield: yield}
	at := *p.Base
	absolute := strings.HasPrefix(at.Path, "//") // and not below the directory a login begins in
	at.Path, at.RawPath, at.RawQuery, at.Fragment = path.Join("/", at.Path, dir), "", "", ""
	if absolute {
		at.Path = "/" + at.Path
	}
	err := p.Source.List(ctx, at.String(), func(e transfer.Entry) error { return r.remote(e) })
	return r.skipped, err
}

// Close gives up connections.
func (p *Place) Close() error { return p.Free() }

// remote hands on what a server says of a name. What it rounds is a listing made for people: times are of
// their minute, or where the clock says midnight of their day, in the zone of the server.
func (r *reading) remote(t transfer.Entry) error {
	e := Entry{Name: t.Name, Size: max(t.Size, -1), ModTime: t.ModTime.UTC(), Precision: time.Second, Mode: t.Mode.Perm(), PermKnown: t.Mode.Perm() != 0}
	if t.Rough && !t.ModTime.IsZero() {
		e.Precision = time.Minute
		y, m, d := e.ModTime.Date()
		hour, minute, second := e.ModTime.Clock()
		if hour == 0 && minute == 0 {
			e.Precision = 24 * time.Hour
		}
		e.ModTime = time.Date(y, m, d, hour, minute, second, 0, r.o.zone()).UTC()
	}
	switch {
	case t.Mode.IsDir():
		e.Dir, e.Size = true, -1
	case t.Mode&fs.ModeSymlink != 0:
		e.Link, e.Size, e.PermKnown = link(t.Target), -1, false
	case !t.Mode.IsRegular():
		return nil
	}
	return r.give(e)
}

func link(target string) string {
	if strings.TrimSpace(target) == "" {
		return "?"
	}
	return target
}
