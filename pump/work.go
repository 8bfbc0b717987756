package pump

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"strconv"
	"time"

	"srpump/partition"
	"srpump/post"
	"srpump/pump/config"
	"srpump/pump/fetch"
	"srpump/pump/hook"
	"srpump/pump/transfer"
)

// work does what one announcement asks for: steps 1 and 2 of the order of
// durability. It runs in a worker and has the job's paths to itself.
func (f *Flow) work(ctx context.Context, j *job) {
	if ctx.Err() != nil {
		return
	}
	if !f.plan.files {
		f.without(ctx, j)
		return
	}
	if f.order.has(j.at.Full(), j.a.Time.Time()) && !f.continues(j) {
		f.Counters.Superseded.Add(1)
		f.host.Log.Info("superseded", "path", j.at.Full(), "announced", j.a.Time)
		f.end(j, dropped)
		return
	}
	j.sum, j.block = j.a.Sum, partition.Block{}
	if f.plan.simulate {
		f.wouldDeliver(j)
		return
	}
	if f.plan.there != nil {
		f.deliverThere(ctx, j)
		return
	}
	tree, err := f.tree(j.at.Root)
	if err != nil {
		f.failed(ctx, j, err)
		return
	}
	switch {
	case j.a.Sum.IsRemoval():
		f.remove(ctx, j, tree)
	case j.a.Sum.IsLink():
		f.link(ctx, j, tree)
	case j.a.Sum.Method == post.SumMkdir:
		f.install.Mkdir(tree, j.at.Path, func(err error) { f.installed(ctx, j, "made", err) })
	case inBlocks(j.a):
		f.fetchBlock(ctx, j, tree)
	default:
		f.fetch(ctx, j, tree)
	}
}

// errLinkless is a link announced without its text.
var errLinkless = errors.New("a link without the header link")

func (f *Flow) link(ctx context.Context, j *job, tree *fetch.Tree) {
	target := j.a.Header(post.HeaderLink)
	if target == "" {
		f.giveUp(j, errLinkless)
		return
	}
	j.wrote = true
	f.install.Link(tree, j.at.Path, target, func(err error) { f.installed(ctx, j, "linked", err) })
}

// fetch sees to it that one file is here: a whole one, or the part file of a block.
func (f *Flow) fetch(ctx context.Context, j *job, tree *fetch.Tree) {
	if !f.cfg.Values.Bool("overwrite") || j.again && f.stage.takes(j) {
		if same, err := fetch.Same(ctx, tree, j.at.Path, asFile(j.a), f.keepsSums()); err == nil && same {
			f.alike(ctx, j, tree)
			return
		}
	}
	if !f.fromOld(ctx, j, tree) && f.enter(ctx, j, tree) {
		defer f.room.leave(j.ongoing)
		f.download(ctx, j, tree)
	}
}

// download gets one whole file from where it is announced.
func (f *Flow) download(ctx context.Context, j *job, tree *fetch.Tree) {
	s, err := f.carried(ctx, j, tree)
	if s == nil && err == nil {
		s, err = f.attempt(ctx, j, tree)
	}
	if fetch.ClassOf(err) == fetch.Oversize && !j.grown && !inBlocks(j.a) && f.cfg.Values.String("sum_mismatch") == "auto" {
		j.grown = true
		s, err = f.attempt(ctx, j, tree)
	}
	if err != nil {
		f.undone(ctx, j, tree, err)
		return
	}
	if !s.Match && !f.agreed(j, s) {
		f.mismatch(ctx, j, s)
		return
	}
	if !f.onData(ctx, j, s) {
		return
	}
	if f.discards() {
		f.discarded(ctx, j, s)
		return
	}
	j.sum, j.block = j.a.Sum.Announced(s.Sum), f.announcedBlock(j.a, s.Size)
	j.wrote = !s.Same
	j.spent, j.proof = !s.Same && !inBlocks(j.a), s.Validator
	f.install.Install(s, func(err error) { f.installed(ctx, j, "fetched", err) })
}

// undone puts a file that was not fetched on disk, to be tried again, or gives it up. A full filesystem has all
// others wait as well.
func (f *Flow) undone(ctx context.Context, j *job, tree *fetch.Tree, err error) {
	if fetch.ClassOf(err) == fetch.Oversize && j.a.Size() < 0 {
		f.giveUp(j, err)
		return
	}
	f.heedFull(tree.Dir(), j, err)
	f.failed(ctx, j, err)
}

func (f *Flow) discards() bool {
	return f.cfg.Preset == config.Subscribe && f.cfg.Values.Bool("discard")
}

// discarded ends a job whose file was fetched for the fetching's sake (the option discard). There
// is no copy, so none is announced.
func (f *Flow) discarded(ctx context.Context, j *job, s *fetch.Staged) {
	defer s.Discard()
	j.sum, j.block = j.a.Sum.Announced(s.Sum), partition.WholeFile(s.Size)
	if f.showsFiles() && !f.onFile(ctx, j, s.TempPath()) {
		return
	}
	f.Counters.Fetched.Add(1)
	f.Counters.Bytes.Add(s.Size)
	f.host.Log.Info("fetched", "path", j.at.Full(), "bytes", s.Size, "url", j.url(), "sum", j.sum)
	f.reportInstalled(j, "fetched")
	f.end(j, done)
}

// attempt fetches, at once again after trouble that may pass.
func (f *Flow) attempt(ctx context.Context, j *job, tree *fetch.Tree) (s *fetch.Staged, err error) {
	tries := f.cfg.Values.Int("attempts")
	if f.jobs.entry(j) != nil {
		tries = 1
	}
	for try := range tries {
		if try > 0 && !pause(ctx, time.Duration(try)*100*time.Millisecond) {
			return nil, ctx.Err()
		}
		if s, err = fetch.Fetch(ctx, f.fetchJob(j, tree)); err == nil || !passing(err) {
			break
		}
	}
	if transfer.ClassOf(err) == transfer.NotFound && err != nil && j.from.Second != "" {
		j.from.URL, j.from.Second, j.at = j.from.Second, "", j.second
		if s, err = fetch.Fetch(ctx, f.fetchJob(j, tree)); err == nil {
			f.joined.Store(j.a.Base, true)
		}
	}
	return s, err
}

// believed is the time of an announcement, but not one far in the future: it would
// make everything after it look old.
func (f *Flow) believed(t post.Timestamp) time.Time {
	if most := f.host.Now().Add(24 * time.Hour); t.Time().After(most) {
		return most
	}
	return t.Time()
}

// passing reports whether trying again at once may help.
func passing(err error) bool {
	var te *transfer.Error
	if errors.As(err, &te) {
		return te.Class == transfer.Temporary && te.RetryAfter == 0
	}
	return fetch.ClassOf(err) == fetch.Temporary && !isFull(err)
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// A file may have grown since it was announced, but a source cannot make us fill the disk: to
// this many times its size, and this many bytes always.
const (
	grownAtMost = 8
	grownAlways = 64 << 20
	grownLimit  = "the announced size (eight times as much and 64 MiB)"
)

func (f *Flow) fetchJob(j *job, tree *fetch.Tree) fetch.Job {
	source, native := f.source(j)
	out := fetch.Job{
		Moved:  &f.Counters.Moved,
		Pace:   f.pace,
		Source: source, Request: request(j), Tree: tree, Path: j.at.Path, Inflight: f.plan.inflight, Tag: f.state,
		Size: j.a.Size(), Sum: j.a.Sum, Mode: f.mode(j.a), HardLink: f.cfg.Values.String("copy") == "link",
		KeepSum: f.keepsSums(), Names: f.names,
	}
	if native && !inBlocks(j.a) {
		out.Partials = f.partials
		out.Resuming = func(here, of int64) {
			f.host.Log.Info("resumed", "path", j.at.Full(), "bytes", here, "of", of, "url", j.url())
		}
	}
	if !f.hooks.At(hook.OnData).Empty() || f.discards() && f.showsFiles() {
		out.Named, out.HardLink = true, false
	}
	if j.ongoing != nil {
		out.Here = &j.ongoing.here
	}
	out.MaxSize, out.Limit = f.plan.largest, "max_file_size"
	if j.grown {
		out.Size = -1
		if grown := grownAtMost*j.a.Size() + grownAlways; out.MaxSize == 0 || grown < out.MaxSize {
			out.MaxSize, out.Limit = grown, grownLimit
		}
	}
	if f.cfg.Values.Bool("preserve_time") {
		out.Mtime = j.a.Mtime().Time()
		if at, err := post.ParseTimestamp(j.a.Header(post.HeaderAtime)); err == nil {
			out.Atime = at.Time()
		}
	}
	return out
}

func orElse(n, otherwise int64) int64 {
	if n > 0 {
		return n
	}
	return otherwise
}

// mode is the announced permissions, else those of the option chmod; 0 leaves it to the umask.
// keepsSums reports whether files keep their sums in their extended attributes.
func (f *Flow) keepsSums() bool { return !f.cfg.Values.Bool("xattr_disable") }

func (f *Flow) mode(a *post.Announcement) fs.FileMode {
	if f.cfg.Values.Bool("preserve_mode") {
		if m, err := strconv.ParseUint(a.Header(post.HeaderMode), 8, 32); err == nil && m&0o777 != 0 {
			return fs.FileMode(m & 0o777)
		}
	}
	return fs.FileMode(f.cfg.Values.Octal("chmod"))
}

// installed follows an installation, made durable: step 3, announcing it, comes next.
func (f *Flow) installed(ctx context.Context, j *job, what string, err error) {
	if err != nil {
		f.failed(ctx, j, err)
		return
	}
	f.received(j)
	f.noteKept(j)
	var old slog.Attr // ignored while it is empty
	switch what {
	case "removed":
		f.Counters.Removed.Add(1)
	case "moved", "renamed":
		f.Counters.Renamed.Add(1)
	case "linked":
		f.Counters.Linked.Add(1)
	case "fetched":
		f.Counters.Fetched.Add(1)
		f.Counters.Bytes.Add(j.block.Length())
		old = oldLine(downloadedLine(j.at.Full()))
	}
	f.host.Log.Info(what, "path", j.at.Full(), "bytes", j.block.Length(), "url", j.url(), "sum", j.sum, old)
	f.reportInstalled(j, what)
	f.onward(ctx, j, j.hasFile() && (what != "adjusted" || j.again))
}

// unchanged is a file that is here already. It is not announced again, or two
// pumps that feed each other would never end; except when a killed run may have
// installed it without announcing it.
func (f *Flow) unchanged(ctx context.Context, j *job) {
	before, _ := f.order.last(j.at.Full())
	f.received(j)
	f.Counters.Unchanged.Add(1)
	f.host.Log.Info("unchanged", "path", j.at.Full(), "sum", j.a.Sum)
	f.report(j, codeNotModified, "not modified3")
	j.sum, j.block, j.spent = j.a.Sum, f.announcedBlock(j.a, j.a.Size()), !inBlocks(j.a)
	if f.owesNews(j, before) {
		f.onward(ctx, j, j.hasFile())
		return
	}
	f.finished(j)
}
