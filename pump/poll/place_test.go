package poll

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"
	"testing"
	"time"

	"srpump/pump/transfer"
)

// listing is a server that says what it likes.
type listing struct {
	asked   string
	entries []transfer.Entry
	err     error
}

func (l *listing) List(_ context.Context, url string, yield func(transfer.Entry) error) error {
	l.asked = url
	for _, e := range l.entries {
		if err := yield(e); err != nil {
			return err
		}
	}
	return l.err
}

func (l *listing) Stat(context.Context, string) (transfer.Entry, error) {
	return transfer.Entry{}, errors.ErrUnsupported
}

// What a server says of a name is what is known of it; no name leads elsewhere, and what was cut short
// is no listing.
func TestPlace(t *testing.T) {
	base, err := url.Parse("sftp://user@host:2222/data")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 21, 10, 30, 15, 0, time.UTC)
	cut := errors.New("cut")
	l := &listing{err: cut, entries: []transfer.Entry{
		{Name: "f", Size: 12, ModTime: at, Mode: 0o640},
		{Name: "minute", Size: 12, ModTime: at.Truncate(time.Minute), Mode: 0o640, Rough: true},
		{Name: "day", Size: -1, ModTime: at.Truncate(24 * time.Hour), Rough: true},
		{Name: "d", Size: 4096, Mode: fs.ModeDir | 0o755},
		{Name: "l", Size: 3, Mode: fs.ModeSymlink | 0o777, Target: "f"},
		{Name: "hidden", Mode: fs.ModeSymlink},
		{Name: "pipe", Mode: fs.ModeNamedPipe},
		{Name: "../etc/passwd", Size: 1}, {Name: "..", Size: 1}, {Name: "a/b", Size: 1}, {Name: "a\nb", Size: 1}, {Name: "a\x00b", Size: 1}, {Name: "", Size: 1},
		{Name: strings.Repeat("x", 300), Size: 1},
		{Name: "old", Size: -7, ModTime: time.Unix(-1e12, 0)},
	}}
	zone := time.FixedZone("", 3600)
	var got []string
	p := &Place{Source: l, Base: base}
	skipped, err := p.List(t.Context(), "a b#", Options{Zone: zone}, func(e Entry) error {
		got = append(got, fmt.Sprintf("%s %v %q %d %v %s %s %o %v", e.Name, e.Dir, e.Link, e.Size, e.Approx, e.ModTime.Format(time.DateTime), e.Precision, e.Mode, e.PermKnown))
		return nil
	})
	want := []string{
		`f false "" 12 false 2026-11-21 10:30:15 1s 640 true`,
		`minute false "" 12 false 2026-11-21 09:30:00 1m0s 640 true`,
		`day false "" -1 false 2026-11-20 23:00:00 24h0m0s 0 false`,
		`d true "" -1 false 0001-01-01 00:00:00 0s 755 true`,
		`l false "f" -1 false 0001-01-01 00:00:00 0s 777 false`,
		`hidden false "?" -1 false 0001-01-01 00:00:00 0s 0 false`,
		`old false "" -1 false 0001-01-01 00:00:00 0s 0 false`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	if skipped.Refused != 7 || !errors.Is(err, cut) || l.asked != "sftp://user@host:2222/data/a%20b%23" {
		t.Errorf("%+v, %v, asked for %s", skipped, err, l.asked)
	}
}
