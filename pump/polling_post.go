package pump

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"

	"srpump/partition"
	"srpump/post"
	"srpump/pump/poll"
	"srpump/winnow"
)

// announceFound announces a file of a directory; false when it is to be tried again.
func (q *poller) announceFound(ctx context.Context, dir string, f found) bool {
	if ctx.Err() != nil {
		return false
	}
	rename := q.maker.Rename
	q.maker.Rename = renameOf(f.choice, rename)
	defer func() { q.maker.Rename = rename }()
	at := path.Join(dir, f.Name)
	var err error
	if q.here != nil {
		err = q.local(ctx, q.here.Path(at))
	} else {
		err = q.remote(ctx, at, f.Entry)
	}
	if err != nil && ctx.Err() == nil {
		q.failed(at, err)
	}
	return err == nil
}

// local announces a file of this host as sr_post does.
func (q *poller) local(ctx context.Context, at string) error {
	info, err := os.Lstat(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the next listing will not have it
	}
	if err != nil {
		return err
	}
	return q.announce(ctx, entry{path: at, info: info})
}

// remote announces a file nobody here has read: without the times and permissions of the
// file, and without parts where the listing gives no exact size, so that whoever fetches
// takes what there is. The cache is told the time, or it would drop what changed without growing.
func (q *poller) remote(ctx context.Context, at string, e poll.Entry) error {
	var block partition.Block
	if e.Size >= 0 && !e.Approx {
		block = partition.WholeFile(e.Size)
	}
	a, err := q.maker.File(q.absolutely(at), nil, nominal(q.sum, at), block, q.host.Now())
	if err != nil {
		return err
	}
	known := a.Clone()
	if !e.ModTime.IsZero() {
		known.SetHeader(post.HeaderMtime, post.FormatTime(e.ModTime))
	}
	return q.sendAs(ctx, at, a, known)
}

// absolutely is a path as post_base_dir is taken off it.
func (q *poller) absolutely(at string) string {
	if q.maker.BaseDir == "" {
		return at
	}
	return path.Join("/", at)
}

// forgetGone forgets what is not there any more, so that it is new when it comes back.
func (q *poller) forgetGone(dir string, old, now listing) {
	for name := range old.files {
		if _, still := now.files[name]; !still {
			q.forgetFile(path.Join(dir, name))
		}
	}
	for sub := range old.subs {
		if !now.subs[sub] {
			q.forgetTree(path.Join(dir, sub))
		}
	}
}

// forgetFile has the cache take the path for one that was removed. Nothing is announced.
func (q *poller) forgetFile(at string) {
	if q.cache == nil {
		return
	}
	if q.here != nil {
		at = q.here.Path(at)
	} else {
		at = q.absolutely(at)
	}
	a, err := q.maker.Removal(at, q.host.Now())
	if err != nil {
		return // then it was never announced
	}
	if v, token := q.cache.Offer(a); v == winnow.Fresh {
		if err := q.cache.Commit(token); err != nil {
			q.host.Log.Error("cache not written", "error", err)
		}
	}
}

// forgetTree forgets a directory and all below it.
func (q *poller) forgetTree(dir string) {
	old := q.recall(dir)
	for name := range old.files {
		q.forgetFile(path.Join(dir, name))
	}
	if err := os.Remove(q.listingPath(dir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		q.host.Log.Error("listing not remembered", "directory", dir, "error", err)
		return
	}
	for sub := range old.subs {
		q.forgetTree(path.Join(dir, sub))
	}
}
