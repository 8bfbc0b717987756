package amqp

import (
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"srpump/pump/broker"
)

// A lane is a publisher's channel on one link, in confirm mode.
type lane struct {
	link     *link
	ch       *amqp.Channel
	confirms chan amqp.Confirmation // in order of publishing
	returns  chan amqp.Return       // each before its confirm
	closed   chan *amqp.Error
	over     chan struct{} // closed when all confirms have been handled
}

// confirmBatch confirms are handled at a time, where so many have come.
const confirmBatch = 64

func (p *publisher) openLane(l *link) (*lane, error) {
	ch, err := l.amqp.Channel()
	if err != nil {
		return nil, err
	}
	n := &lane{link: l, ch: ch, over: make(chan struct{})}
	n.confirms = ch.NotifyPublish(make(chan amqp.Confirmation, p.o.Window))
	n.returns = ch.NotifyReturn(make(chan amqp.Return, 16))
	n.closed = ch.NotifyClose(make(chan *amqp.Error, 1))
	return n, ch.Confirm(false)
}

// run sends letters until the publisher is closed or there will be no link
// again; then it fails what is left.
func (p *publisher) run() {
	defer close(p.over)
	err := p.runLanes()
	p.mu.Lock()
	p.err = err
	rest := p.box.clear()
	p.mu.Unlock()
	p.finish(rest, err)
}

func (p *publisher) runLanes() error {
	for {
		l, err := p.c.await(p.life)
		if p.life.Err() != nil {
			return broker.ErrClosed
		}
		if err != nil {
			return err
		}
		n, err := p.openLane(l)
		if err == nil {
			p.serve(n)
		}
		switch {
		case l.broken():
			select {
			case <-l.down:
			case <-p.life.Done():
			}
		case err != nil: // no channel is free
			_ = pause(p.life, jitter(p.c.o.MinBackoff))
		}
	}
}

// serve sends on one lane until it ends, and puts the outbox in order for the
// next one.
func (p *publisher) serve(n *lane) {
	p.use(n)
	defer p.use(nil)
	go p.confirm(n)
	p.send(n)
	_ = n.ch.Close() // does nothing to a channel that broke
	<-n.over
	var refused []*letter
	var why error
	if e := <-n.closed; e != nil && e.Server && !n.link.broken() {
		refused, why = p.refuse(e)
	} else {
		p.mu.Lock()
		p.box.rewind()
		p.mu.Unlock()
	}
	p.finish(refused, why)
}

func (p *publisher) use(n *lane) {
	p.mu.Lock()
	p.current = n
	p.mu.Unlock()
}

// send writes letters as they come, until the lane or the publisher ends.
func (p *publisher) send(n *lane) {
	for p.life.Err() == nil {
		p.mu.Lock()
		refused := p.takeRefused()
		batch := p.box.take(sendBatch)
		p.mu.Unlock()
		p.finish(refused, nil)
		if len(batch) == 0 {
			select {
			case <-p.wake:
				continue
			case <-n.over:
				return
			case <-p.life.Done():
				return
			}
		}
		if n.write(batch, p.o.Unrouted != nil) != nil {
			return
		}
	}
}

// write hands a batch to the library, with one system call for all.
func (n *lane) write(batch []*letter, tellUnrouted bool) error {
	n.link.wire.cork()
	defer n.link.wire.uncork()
	for _, x := range batch {
		if err := n.ch.Publish(x.Exchange, x.Key, x.Mandatory || tellUnrouted, false, publishing(&x.Publishing)); err != nil {
			return err
		}
	}
	return nil
}

// publishing translates p for the library.
func publishing(p *broker.Publishing) amqp.Publishing {
	mode := amqp.Persistent
	if p.Transient {
		mode = amqp.Transient
	}
	return amqp.Publishing{
		Headers: p.Headers, ContentType: p.ContentType, ContentEncoding: p.ContentEncoding, DeliveryMode: mode,
		Priority: p.Priority, CorrelationId: p.CorrelationID, ReplyTo: p.ReplyTo, Expiration: p.Expiration,
		MessageId: p.MessageID, Timestamp: p.Timestamp, Type: p.Type, UserId: p.UserID, AppId: p.AppID, Body: p.Body,
	}
}

// confirm handles returns and confirms until the lane ends. A return was put
// into its channel before its confirm was, so those that are there come first.
func (p *publisher) confirm(n *lane) {
	defer close(n.over)
	returns := n.returns
	for {
		select {
		case r, ok := <-returns:
			if !ok {
				returns = nil
				continue
			}
			p.markReturned(&r)
		case c, ok := <-n.confirms:
			if !ok {
				return
			}
			behind := min(len(n.confirms), confirmBatch-1) // their returns are there too
			p.drainReturns(returns)
			p.confirmed(c, n.confirms, behind)
		}
	}
}

func (p *publisher) markReturned(r *amqp.Return) {
	p.mu.Lock()
	p.box.mark(r)
	p.mu.Unlock()
}

func (p *publisher) drainReturns(returns <-chan amqp.Return) {
	for {
		select {
		case r, ok := <-returns:
			if !ok {
				return
			}
			p.markReturned(&r)
		default:
			return
		}
	}
}

// confirmed handles one confirm and so many that wait behind it.
func (p *publisher) confirmed(c amqp.Confirmation, more <-chan amqp.Confirmation, behind int) {
	taken := make([]*letter, 0, confirmBatch)
	nacked := false
	p.mu.Lock()
	singly := p.box.singly > 0
	for ; ; behind-- {
		x := p.box.confirmed()
		if c.Ack {
			taken = append(taken, x)
			p.paused = 0
		} else {
			p.box.hold(x)
			nacked = true
		}
		if behind == 0 {
			break
		}
		c = <-more
	}
	p.mu.Unlock()
	p.finish(taken, nil)
	if nacked {
		p.resendLater()
	}
	if singly {
		signal(p.wake)
	}
}

// resendLater puts letters the broker did not take back into the line, after a
// pause that grows while it goes on refusing.
func (p *publisher) resendLater() {
	p.mu.Lock()
	p.paused = min(max(nackPause, 2*p.paused), nackPauses)
	wait := p.paused
	p.mu.Unlock()
	if wait == nackPause {
		p.c.log.Warn("broker did not take publishings", "broker", p.c.to.safe)
	}
	time.AfterFunc(jitter(wait), func() {
		p.mu.Lock()
		p.box.release()
		p.mu.Unlock()
		signal(p.wake)
	})
}
