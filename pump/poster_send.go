package pump

import (
	"context"
	"errors"

	"srpump/post"
	"srpump/pump/broker"
	"srpump/winnow"
)

// errUnwanted is what a hook did not let pass.
var errUnwanted = errors.New("dropped by a hook")

// offer asks the cache whether what is known by a is to be announced; then know must be told
// what became of it.
func (p *Poster) offer(a *post.Announcement) (token winnow.Token, fresh bool) {
	if p.cache == nil {
		return winnow.Token{}, true
	}
	v, token := p.cache.Offer(a)
	if v != winnow.Fresh {
		p.Counters.Winnowed.Add(1)
	}
	return token, v == winnow.Fresh
}

// know has the cache remember what was announced, or with an error forget it.
func (p *Poster) know(token winnow.Token, err error) {
	switch {
	case p.cache == nil:
	case err != nil:
		p.cache.Release(token)
	default:
		if err := p.cache.Commit(token); err != nil {
			p.host.Log.Error("cache not written", "error", err)
		}
	}
}

// publish sends an announcement of path, which is owed until the broker has it. done is called once with what
// became of it, errUnwanted where a hook wanted nothing of it; but not where publish fails: then the caller still owes it.
func (p *Poster) publish(ctx context.Context, path string, a *post.Announcement, done func(error)) error {
	p.owed.add(path)
	ok, err := p.onPost(ctx, path, a)
	if err == nil && ok {
		err = p.out.send(ctx, a, func(err error) { p.published(path, a, err, done) })
	}
	if err != nil || !ok {
		p.owed.settle(path)
	}
	if err == nil && !ok {
		done(errUnwanted)
	}
	return err
}

// published is told what the broker made of a.
func (p *Poster) published(path string, a *post.Announcement, err error, done func(error)) {
	if err == nil {
		p.Counters.Bytes.Add(max(a.Size(), 0))
	}
	done(err)
	switch {
	case err == nil:
		p.owed.settle(path)
	case !errors.Is(err, broker.ErrClosed):
		p.fail(err)
	}
}
