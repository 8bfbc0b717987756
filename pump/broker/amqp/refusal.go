package amqp

import (
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// refusalHolds is for how long an exchange that refused a publishing is not
// asked again: each question costs a channel, and sends what was under way
// once more.
const refusalHolds = 100 * time.Millisecond

// A refusal is the broker's no to publishing to one exchange.
type refusal struct {
	err      error
	until    time.Time
	declared uint64 // void once this conn has declared an exchange since
}

// refuse handles a channel exception: letters to the exchange it speaks of are
// taken out with its error. When it does not say which letter it is about,
// the letters under way are sent again one at a time until one is found.
func (p *publisher) refuse(e *amqp.Error) (out []*letter, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	sent := p.box.sent
	p.box.rewind()
	exchange, ok := quoted(e.Reason, "exchange '")
	_, topical := quoted(e.Reason, "topic '")
	if ok && !topical && (e.Code == amqp.NotFound || e.Code == amqp.AccessRefused) {
		err = p.c.explain("publish", exchange, e)
		p.refusals[exchange] = refusal{err, time.Now().Add(refusalHolds), p.c.declared.Load()}
		if out = p.box.remove(func(x *letter) bool { return x.Exchange == exchange }); len(out) > 0 {
			p.box.singly = min(p.box.singly, len(p.box.letters))
			return out, err
		}
	}
	if sent != 1 {
		p.box.singly = sent
		return nil, nil
	}
	first := p.box.letters[0]
	p.box.singly = max(0, p.box.singly-1)
	return p.box.remove(func(x *letter) bool { return x == first }), p.c.explain("publish", first.Exchange, e)
}

// takeRefused takes out the letters that need not be sent at all.
func (p *publisher) takeRefused() []*letter {
	if p.invalid == 0 && len(p.refusals) == 0 {
		return nil
	}
	p.invalid = 0 // remove finds them all: what is sent is valid
	return p.box.remove(p.refused)
}

// refused tells whether x needs not be sent at all, and why.
func (p *publisher) refused(x *letter) bool {
	r, ok := p.refusals[x.Exchange]
	switch {
	case x.err != nil:
		return true
	case !ok:
		return false
	case time.Now().After(r.until) || p.c.declared.Load() != r.declared:
		delete(p.refusals, x.Exchange)
		return false
	}
	x.err = r.err
	return true
}
