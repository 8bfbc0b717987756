package pump

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"srpump/post"
	"srpump/pump/config"
	"srpump/pump/hook"
	"srpump/pump/transfer"
)

// deliverPoints are the options whose hooks deliver, in the order they are asked.
func deliverPoints() []string { return []string{hook.DoPut, hook.DoSend} }

// hooksDeliver reports whether a configuration has a hook that delivers to a kind of URL; native says
// that there is something built in, which only a line that names the scheme replaces.
func hooksDeliver(c *config.Config, scheme string, native bool) bool {
	for _, point := range deliverPoints() {
		for _, line := range c.Values.List(point) {
			if hook.ForScheme(line, scheme, native) {
				return true
			}
		}
	}
	return false
}

// deliveredURL is where a place is at the destination.
func (p *plan) deliveredURL(at Place) string {
	if p.there == nil {
		return transfer.FileURL(at.Full())
	}
	u := *p.there
	u.Path, u.RawPath, u.RawQuery, u.Fragment = serverPath(&u, at.Full()), "", "", ""
	return u.String()
}

// carrier is the hooks that deliver to the destination.
func (f *Flow) carrier(a *post.Announcement) *hook.Chain {
	scheme := strings.ToLower(f.plan.there.Scheme)
	for _, point := range deliverPoints() {
		if chain := f.hooks.At(point); chain.Handles(scheme, scheme == "file", a) {
			return chain
		}
	}
	return nil
}

// Files a hook is not given.
var (
	errCarried   = errors.New("removals, links and directories are not followed where a hook delivers")
	errNoCarrier = errors.New("the hook that delivers was left out")
	errNotAsSaid = errors.New("it is not the file that was announced")
)

// deliverThere does at a destination that is no directory of this host what j announces: hooks do,
// where there are some for it.
func (f *Flow) deliverThere(ctx context.Context, j *job) {
	switch chain := f.carrier(j.a); {
	case chain != nil:
		f.carry(ctx, j, chain)
	case f.sender != nil:
		f.deliver(ctx, j)
	default:
		f.giveUp(j, errNoCarrier)
	}
}

// carry has a hook deliver the file of j. What it does not say is delivered is tried again.
func (f *Flow) carry(ctx context.Context, j *job, chain *hook.Chain) {
	b := j.a.Block
	switch {
	case j.a.Sum.IsRemoval() || !j.hasFile():
		f.giveUp(j, errCarried)
		return
	case inBlocks(j.a):
		f.giveUp(j, fmt.Errorf("%w: block=%d of=%d", errBlockHook, b.Number, b.Count))
		return
	}
	size, err := f.asAnnounced(ctx, j)
	if err == nil {
		e := &hook.Event{Announcement: j.a.Clone(), Local: j.from.Local, URL: f.plan.deliveredURL(j.at)}
		e.Root, e.Dir, e.File = j.at.split()
		var ok bool
		if ok, err = chain.Run(f.grace, e); !ok {
			err = undone("deliver", err)
		}
	}
	if err != nil {
		f.failed(ctx, j, err)
		return
	}
	f.delivered(ctx, j, size)
}

// asAnnounced is the size of the local file of j, whose bytes have the sum that was announced.
func (f *Flow) asAnnounced(ctx context.Context, j *job) (size int64, err error) {
	body, err := f.sources.Get(ctx, transfer.Whole(transfer.FileURL(j.from.Local)))
	if err != nil {
		return 0, err
	}
	defer body.Close()
	method := j.a.Sum.Method
	if !j.a.Sum.Verifiable() {
		method = post.SumMD5 // of which only the size is looked at
	}
	sum, size, err := post.OfReader(method, body, make([]byte, 64<<10))
	if err == nil && (j.a.HasBlock() && size != j.a.Size() || j.a.Sum.Verifiable() && !sum.Equal(j.a.Sum)) {
		err = errNotAsSaid
	}
	if err != nil {
		return 0, fmt.Errorf("cannot deliver %q: %w", j.from.Local, err)
	}
	return size, nil
}

// delivered goes on with a file that is at the destination: it is announced.
func (f *Flow) delivered(ctx context.Context, j *job, size int64) {
	j.block = f.announcedBlock(j.a, size)
	f.received(j)
	f.Counters.Fetched.Add(1)
	f.Counters.Bytes.Add(size)
	to := config.Redact(f.plan.deliveredURL(j.at))
	f.host.Log.Info("delivered", "path", j.from.Local, "bytes", size, "url", to, "sum", j.sum)
	f.reportInstalled(j, "fetched")
	f.onward(ctx, j, false)
}
