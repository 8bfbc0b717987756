package pump

import (
	"context"
	"sync"
	"time"

	"srpump/post"
	"srpump/pump/hook"
)

// A hook that fails is asked so many times, further and further apart: nobody announces a change of a
// file again.
const (
	hookTries = 4
	hookPause = time.Second
)

// onPost shows the hooks what is about to be announced of path, and reports whether to go on.
func (p *Poster) onPost(ctx context.Context, path string, a *post.Announcement) (ok bool, err error) {
	chain := p.hooks.At(hook.OnPost)
	if chain.Empty() {
		return true, nil
	}
	for try := range hookTries {
		e := &hook.Event{Announcement: a.Clone(), Local: path}
		if ok, err = chain.Run(ctx, e); err == nil {
			if !ok {
				p.Counters.Rejected.Add(1)
				p.host.Log.Info("dropped by a hook", "option", hook.OnPost, "path", path)
				return false, nil
			}
			*a = *e.Announcement
			return true, nil
		}
		if try == hookTries-1 || !pause(ctx, hookPause<<try) {
			break
		}
	}
	return false, err
}

// heartbeat tells the hooks of on_heartbeat, where there are any, until it is ended or ctx is.
func (p *Poster) heartbeat(ctx context.Context) (end func()) {
	every := p.cfg.Values.Duration("heartbeat")
	if every == 0 || p.hooks.At(hook.OnHeartbeat).Empty() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var over sync.WaitGroup
	over.Go(func() {
		tick := time.NewTicker(max(every, time.Second))
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				beat(ctx, p.hooks, hook.OnHeartbeat, p.host)
			case <-ctx.Done():
				return
			}
		}
	})
	return func() { cancel(); over.Wait() }
}
