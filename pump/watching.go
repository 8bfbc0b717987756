package pump

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"srpump/post/watch"
	"srpump/pump/hook"
)

// Watch announces what changes below the paths until ctx ends; with
// post_on_start also what is there already. Where one queue alone is to be given what is there,
// it does that and no more.
func (p *Poster) Watch(ctx context.Context, paths []string) error {
	if p.queue != "" {
		return p.Post(ctx, paths)
	}
	ctx, p.cancel = context.WithCancel(ctx)
	defer p.cancel()
	v := p.cfg.Values
	roots := make([]string, len(paths))
	for i, name := range paths {
		roots[i] = p.named(name)
	}
	minAge, err := p.minAge()
	if err != nil {
		return err
	}
	w, err := watch.New(watch.Options{Roots: roots, Settle: v.Duration("sleep"), MinAge: minAge, Follow: v.Bool("follow_symlinks"),
		Dirs: p.events["mkdir"],
		Poll: v.Bool("force_polling"), Logger: p.host.Log})
	if err != nil {
		return err
	}
	p.watcher = w
	stop, err := p.start(ctx)
	if err != nil {
		return err
	}
	left, err := p.remembered()
	if err != nil {
		p.host.Log.Warn("not all may be announced", "error", err)
	}
	left = distinct(left)
	if v.Bool("post_on_start") {
		roots = slices.DeleteFunc(distinct(roots), func(r string) bool { return slices.Contains(left, r) })
	} else {
		roots = nil
	}
	var first sync.WaitGroup
	first.Go(func() { left = p.walkWhenReady(ctx, w, left, roots) })
	err = w.Run(ctx, p.settled)
	p.cancel()
	first.Wait()
	left = append(left, w.Pending()...)
	p.leave(left) // before the wait, in which a supervisor may lose its patience
	flush, done := lingering(ctx, stopTime)
	defer done()
	if serr := stop(flush); serr != nil {
		p.host.Log.Warn("announcements unconfirmed", "error", serr)
	}
	p.leave(left)
	if p.fatal != nil {
		return p.fatal
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// walkWhenReady announces all that the last run left and, of what is there, what changed
// since, once whatever changes from then on is noticed. It returns the names it did not list
// to their end: they are walked whole the next time, when a duration leads to another time.
func (p *Poster) walkWhenReady(ctx context.Context, w *watch.Watcher, left, roots []string) (rest []string) {
	select {
	case <-w.Ready():
		p.host.ready()
	case <-ctx.Done():
		return slices.Concat(left, roots)
	}
	rest, err := p.walk(ctx, left, since{})
	if err == nil {
		p.announceSince()
		rest, err = p.walk(ctx, roots, p.since)
	} else {
		rest = append(rest, roots...)
	}
	if err != nil && ctx.Err() == nil {
		p.fail(err)
	}
	if err != nil {
		return rest
	}
	p.host.Log.Info("watching", "paths", len(left)+len(roots), "directories", w.Stats().Watched)
	return nil
}

// settled announces a batch of events: files side by side, removals in their place between them.
func (p *Poster) settled(ctx context.Context, events []watch.Event) error {
	beat(ctx, p.hooks, hook.OnWatch, p.host)
	var files sync.WaitGroup
	room := make(chan struct{}, runtime.NumCPU())
	for _, e := range events {
		if e.Op == watch.Removed {
			files.Wait()
			p.announceEntry(ctx, entry{path: e.Path, other: e.To, dir: e.Dir})
			continue
		}
		room <- struct{}{}
		files.Go(func() {
			p.announceEntry(ctx, entry{path: e.Path, info: e.Info, other: e.From})
			<-room
		})
	}
	files.Wait()
	return ctx.Err()
}

// minAge is the option inflight of a poster: how old a file must be.
func (p *Poster) minAge() (time.Duration, error) {
	s := p.cfg.Values.String("inflight")
	if s == "" || s == "none" {
		return 0, nil
	}
	d, err := ago(s)
	if err != nil {
		return 0, fmt.Errorf("cannot use inflight %q: a poster needs the least age of a file, such as 5s", s)
	}
	if d <= time.Second {
		return 0, nil
	}
	return d, nil
}
