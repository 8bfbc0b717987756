package pump

import (
	"context"
	"errors"
	"fmt"
	neturl "net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"srpump/pump/transfer"
)

// finished ends a job that is done: what it installed is durable, and where the flow announces,
// confirmed. With the option delete its source is removed before; a kill between the two is a
// source that is not there when the announcement comes again, and a file that is here.
func (f *Flow) finished(j *job) {
	if !j.spent || !f.cfg.Values.Bool("delete") {
		f.end(j, done)
		return
	}
	f.crew.start(func() {
		err := f.removeSource(f.grace, j)
		switch {
		case err == nil:
			f.host.Log.Info("source removed", "path", j.at.Full(), "url", j.url())
		case f.grace.Err() != nil:
			return // stopped: it comes again at the next start
		case errors.Is(err, errKept) && f.hints.keeps(j.source): // it was said
		default:
			f.host.Log.Warn("source not removed", "path", j.at.Full(), "url", j.url(), "error", err)
		}
		f.end(j, done)
	})
}

// Why a source stays.
var (
	errKept     = errors.New("files are not removed by this kind of URL")
	errNoBase   = errors.New("files of this host are removed only below base_dir, which is not set")
	errItself   = errors.New("it is the file that was made of it")
	errNewer    = errors.New("it is no longer the file that was fetched")
	errUnproven = errors.New("nothing tells whether it still is the file that was fetched")
	errUnasked  = errors.New("the file was here and nothing was fetched, so it may be the file that is here")
)

// removeSource removes the source of j, if it still is what was fetched.
func (f *Flow) removeSource(ctx context.Context, j *job) error {
	if j.from.Local != "" {
		return f.removeLocal(ctx, j)
	}
	scheme, _, _ := strings.Cut(j.from.URL, ":")
	source := f.sources[strings.ToLower(scheme)]
	w, writes := source.(transfer.Writer)
	look, looks := source.(transfer.Lister)
	if !writes || !looks {
		return errKept
	}
	if !j.wrote && !j.again {
		return errUnasked
	}
	return f.trying(ctx, j, func(bool) error {
		e, err := look.Stat(ctx, j.from.URL)
		if err == nil {
			err = j.stillIs(e)
		}
		if err == nil {
			err = notItself(ctx, look, j.from.URL, j.at.Full())
		}
		if err == nil {
			err = w.Remove(ctx, j.from.URL)
		}
		if err != nil && transfer.ClassOf(err) == transfer.NotFound {
			return nil
		}
		return err
	})
}

// stillIs fails when what a server says of the source is not what was fetched, or when it tells a time and
// nobody knows the one of what was.
func (j *job) stillIs(e transfer.Entry) error {
	if e.Size >= 0 && e.Size != j.block.Length() {
		return errNewer
	}
	if e.Rough || e.ModTime.IsZero() {
		return nil
	}
	known := j.proof.ModTime
	if known.IsZero() {
		known = j.a.Mtime().Time()
	}
	switch {
	case known.IsZero():
		return errUnproven
	case !sameTime(known, e.ModTime):
		return errNewer
	}
	return nil
}

// sameTime compares two times of a file to the microsecond, or where one has no fraction, to the second.
func sameTime(a, b time.Time) bool {
	fine := time.Microsecond
	if a.Nanosecond() == 0 || b.Nanosecond() == 0 {
		fine = time.Second
	}
	return a.Truncate(fine).Equal(b.Truncate(fine))
}

// removeLocal removes a source on this host: below base_dir, and no link on the way leads out of it.
func (f *Flow) removeLocal(ctx context.Context, j *job) error {
	base := f.cfg.Values.String("base_dir")
	if base == "" {
		return errNoBase
	}
	rel, err := filepath.Rel(base, j.from.Local)
	if err != nil || !filepath.IsLocal(rel) {
		return errBelow
	}
	if oneName(j.from.Local, j.at.Full()) && f.plan.there == nil {
		return errItself
	}
	if err := f.apartFromSent(ctx, j); err != nil {
		return err
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return fmt.Errorf("cannot open directory: %w", err)
	}
	defer root.Close()
	info, err := root.Lstat(rel)
	if err == nil {
		err = j.stillIs(transfer.Entry{Size: info.Size(), ModTime: info.ModTime()})
	}
	if err == nil {
		err = root.Remove(rel)
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// apartFromSent fails when the server a file was delivered to shows the file that was sent as the one delivered.
func (f *Flow) apartFromSent(ctx context.Context, j *job) error {
	if f.plan.there == nil {
		return nil
	}
	url := f.plan.deliveredURL(j.at)
	scheme, _, _ := strings.Cut(url, ":")
	look, looks := f.sources[strings.ToLower(scheme)].(transfer.Lister)
	if !looks {
		return nil // what a hook delivered
	}
	return f.trying(ctx, j, func(bool) error { return notItself(ctx, look, url, j.from.Local) })
}

// notItself fails when a URL and a path of this host lead to one name in one directory: whatever the addresses
// say, as a file system may be mounted here as well as there. It looks whether a file made beside
// the one shows beside the other.
func notItself(ctx context.Context, look transfer.Lister, url, local string) error {
	dir, name := path.Split(url)
	if plain, err := neturl.PathUnescape(name); err == nil && plain != filepath.Base(local) {
		return nil
	}
	mark, err := os.CreateTemp(filepath.Dir(local), "sr_delete*.tmp")
	if err != nil {
		return fmt.Errorf("cannot tell whether it is the file that was made of it: %w", err)
	}
	defer os.Remove(mark.Name())
	defer mark.Close()
	_, err = look.Stat(ctx, dir+filepath.Base(mark.Name()))
	switch {
	case err == nil:
		return errItself
	case transfer.ClassOf(err) == transfer.NotFound:
		return nil
	}
	return err
}

// oneName reports whether two paths lead to one name in one directory.
func oneName(a, b string) bool {
	if filepath.Base(a) != filepath.Base(b) {
		return false
	}
	x, errX := os.Stat(filepath.Dir(a))
	y, errY := os.Stat(filepath.Dir(b))
	return errX == nil && errY == nil && os.SameFile(x, y)
}
