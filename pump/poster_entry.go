package pump

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"srpump/partition"
	"srpump/post"
	"srpump/pump/config"
	"srpump/pump/transfer"
)

func (p *Poster) failed(path string, err error) {
	p.Counters.Failed.Add(1)
	if errors.Is(err, errChanged) {
		p.host.Log.Error("not announced", "path", path, "error", err, "hint", "announce it when nobody writes to it, or let sr_watch wait for that")
		return
	}
	p.host.Log.Error("not announced", "path", path, "error", err)
}

// announceEntry makes and sends the announcements of one path. The path stays owed when ctx
// ended first.
func (p *Poster) announceEntry(ctx context.Context, e entry) {
	p.owed.add(e.path)
	if ctx.Err() != nil {
		return
	}
	var err error
	if p.wanted(e) {
		err = p.announce(ctx, e)
	}
	if err != nil && ctx.Err() != nil {
		return
	}
	if err != nil {
		p.failed(e.path, err)
	}
	p.owed.settle(e.path)
}

func (p *Poster) announce(ctx context.Context, e entry) error {
	switch {
	case e.info == nil:
		return p.removal(ctx, e)
	case e.info.IsDir():
		return p.directory(ctx, e.path, post.SumMkdir)
	case e.info.Mode()&fs.ModeSymlink != 0:
		return p.link(ctx, e)
	}
	return p.file(ctx, e)
}

// wanted asks the rules and the events before anything is read.
func (p *Poster) wanted(e entry) bool {
	return p.happens(e) && p.accepted(e.path)
}

// accepted asks the rules.
func (p *Poster) accepted(path string) bool {
	choice, err := p.rules.Choose(p.probe(path))
	if err != nil {
		p.failed(path, err)
		return false
	}
	if choice.Accept {
		return true
	}
	p.Counters.Rejected.Add(1)
	if p.cfg.Values.Bool("log_reject") {
		p.host.Log.Info("rejected", "path", path, "rule", choice.Line)
	}
	return false
}

// happens asks the option events.
func (p *Poster) happens(e entry) bool {
	moved := p.events["move"] && e.other != ""
	switch {
	case e.info == nil:
		return p.events["delete"] || moved || e.dir && p.events["rmdir"]
	case e.info.IsDir():
		return p.events["mkdir"]
	case e.info.Mode()&fs.ModeSymlink != 0:
		return p.events["link"]
	}
	return p.events["change"] || moved
}

// probe is what the rules are asked about a path: with realpath_filter the one it has without
// symbolic links. What is gone keeps its name, below what its directory is now.
func (p *Poster) probe(path string) *post.Announcement {
	if p.cfg.Values.Bool("realpath_filter") {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		} else if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
			path = filepath.Join(dir, filepath.Base(path))
		}
	}
	return &post.Announcement{Base: p.maker.BaseURL, Path: p.maker.Rel(path)}
}

// removal announces that something is gone, and where it went when the rules accept that.
func (p *Poster) removal(ctx context.Context, e entry) error {
	if e.dir && e.other == "" && p.events["rmdir"] {
		return p.directory(ctx, e.path, post.SumRmdir)
	}
	a, err := p.maker.Removal(e.path, p.host.Now())
	if err != nil {
		return err
	}
	p.moved(a, post.HeaderNewname, e)
	p.Counters.Removed.Add(1)
	if p.cfg.Preset == config.Post { // it may be a slip of somebody's finger
		p.host.Log.Warn("no such file, announced as removed", "path", e.path)
	}
	return p.send(ctx, e.path, a)
}

func (p *Poster) directory(ctx context.Context, path, method string) error {
	a, err := p.maker.Directory(path, method, p.host.Now())
	if err != nil {
		return err
	}
	return p.send(ctx, path, a)
}

// moved says the other name of what e is about, when the rules accept that, too: else what was moved
// out of what they accept is only gone, and what was moved into it only there.
func (p *Poster) moved(a *post.Announcement, header string, e entry) {
	if e.other == "" {
		return
	}
	if choice, err := p.rules.Choose(p.probe(e.other)); err == nil && choice.Accept {
		p.maker.Moved(a, header, e.other)
	}
}

// link announces a symbolic link and, with follow_symlinks, the file it leads to.
func (p *Poster) link(ctx context.Context, e entry) error {
	target, err := os.Readlink(e.path)
	if err != nil {
		return fmt.Errorf("cannot read link: %w", err)
	}
	a, err := p.maker.Link(e.path, target, p.host.Now())
	if err != nil {
		return err
	}
	p.moved(a, post.HeaderOldname, e)
	if err := p.send(ctx, e.path, a); err != nil || !p.cfg.Values.Bool("follow_symlinks") {
		return err
	}
	real, ok := p.behind(e.path)
	if !ok {
		return nil // a link may lead nowhere
	}
	if info, err := os.Lstat(real); err == nil && info.Mode().IsRegular() && p.accepted(real) {
		return p.file(ctx, entry{path: real, info: info})
	}
	return nil
}

// behind is the path a link leads to, in the terms of post_base_dir. What lies outside of that has no URL there,
// and its checksum is nobody's business.
func (p *Poster) behind(link string) (string, bool) {
	real, err := filepath.EvalSymlinks(link)
	if err != nil {
		return "", false
	}
	dir := p.maker.BaseDir
	if dir == "" || p.maker.BaseURL == post.LocalBase {
		return real, true
	}
	base, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", false
	}
	rel, err := filepath.Rel(base, real)
	return filepath.Join(dir, rel), err == nil && filepath.IsLocal(rel)
}

// file announces a file, whole or in blocks, with sums of what it holds once it holds still.
func (p *Poster) file(ctx context.Context, e entry) error {
	if partition.IsPartName(e.path) {
		return p.partFile(ctx, e)
	}
	method, _, later := strings.Cut(p.sum, ",")
	if later || post.NewHash(method) == nil {
		return p.unread(ctx, e)
	}
	return p.steadily(ctx, e, func(s *sumFile) (begun bool, err error) {
		if b := p.cut.block(s.info.Size()); b.Count > 1 {
			return p.blocks(ctx, e, s.info, b, p.hashed(ctx, s, method, b))
		}
		sum, err := p.summed(ctx, e.path, s, method)
		if err != nil {
			return false, err
		}
		return true, p.whole(ctx, e, s.info, sum)
	})
}

// unread announces a file whose sum is made without reading it.
func (p *Poster) unread(ctx context.Context, e entry) error {
	sum, b := nominal(p.sum, e.path), p.cut.block(e.info.Size())
	if b.Count == 1 {
		return p.whole(ctx, e, e.info, sum)
	}
	_, err := p.blocks(ctx, e, e.info, b, p.pieces(b, func(int64) post.Fingerprint { return sum }))
	return err
}

// steadily calls fn with the open file, again with what is there then while it changes and nothing of it is
// announced. A file that went away meanwhile is announced as removed.
func (p *Poster) steadily(ctx context.Context, e entry, fn func(*sumFile) (begun bool, err error)) error {
	for try := 1; ; try++ {
		begun, err := opened(e.path, fn)
		switch {
		case errors.Is(err, errGone):
			p.announceEntry(ctx, entry{path: e.path}) // which asks whether removals are wanted
			return nil
		case !errors.Is(err, errChanged):
			return err
		case begun || try == settleTries:
			return p.broken(ctx, e, err)
		}
	}
}

// summed is the fingerprint of a whole file. It is taken from its extended attributes, and kept there.
func (p *Poster) summed(ctx context.Context, path string, s *sumFile, method string) (sum post.Fingerprint, err error) {
	keeps := !p.cfg.Values.Bool("xattr_disable")
	if keeps {
		if sum, ok := post.KeptSum(s.f, s.info, method); ok {
			return sum, s.unchanged()
		}
	}
	began := time.Now()
	if sum, err = s.block(ctx, method, partition.WholeFile(s.info.Size())); err == nil {
		err = s.unchanged()
	}
	if err == nil && keeps && p.dry == nil && post.KeepSum(s.f, s.info, sum, began) {
		p.touched(path, s)
	}
	return sum, err
}

// touched tells a watcher that this process itself changed the attributes of a file it announces.
func (p *Poster) touched(path string, s *sumFile) {
	if p.watcher == nil || s.unchanged() != nil {
		return
	}
	if now, err := s.f.Stat(); err == nil && now.ModTime().Equal(s.info.ModTime()) {
		p.watcher.Own(path, now)
	}
}

// nominal is a fingerprint made without reading the file, by the option sum.
func nominal(sum, path string) post.Fingerprint {
	switch method, value, _ := strings.Cut(sum, ","); method {
	case post.SumName:
		return post.OfName(filepath.Base(path))
	case post.SumLater, post.SumGiven:
		return post.Fingerprint{Method: method, Value: value}
	}
	return post.NoSum()
}

// whole announces a file in one piece.
func (p *Poster) whole(ctx context.Context, e entry, info fs.FileInfo, sum post.Fingerprint) error {
	a, err := p.maker.File(e.path, info, sum, partition.WholeFile(info.Size()), p.host.Now())
	if err != nil {
		return err
	}
	p.inline.attach(a, e.path)
	p.moved(a, post.HeaderOldname, e)
	return p.send(ctx, e.path, a)
}

// send publishes an announcement of path unless it was published already. Until the broker
// has it, the path is owed.
func (p *Poster) send(ctx context.Context, path string, a *post.Announcement) error {
	if p.dry != nil {
		p.dry(a)
		return nil
	}
	return p.sendAs(ctx, path, a, a)
}

// sendAs is send for an announcement that the cache is to know by another, which tells more.
func (p *Poster) sendAs(ctx context.Context, path string, a, known *post.Announcement) error {
	token, fresh := p.offer(known)
	if !fresh {
		return nil
	}
	err := p.publish(ctx, path, a, func(err error) { p.know(token, err) })
	if err != nil {
		p.know(token, err)
	}
	return err
}

// A shownURL is a URL as logs show it, without its password; it costs nothing when nobody looks.
type shownURL string

func (u shownURL) String() string { return transfer.Redact(string(u)) }
