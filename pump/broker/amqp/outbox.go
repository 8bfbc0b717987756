package amqp

import (
	"bytes"
	"slices"

	amqp "github.com/rabbitmq/amqp091-go"

	"srpump/pump/broker"
)

// A letter is a publishing on its way, from Publish until done was called.
type letter struct {
	broker.Publishing
	done     func(error)
	seq      uint64 // order of Publish
	returned bool   // the broker found no queue for it
	err      error  // refused before it was sent
}

// An outbox holds the letters that are not confirmed, oldest first; the first
// sent of them are on the current channel. It has no lock of its own.
type outbox struct {
	letters []*letter
	sent    int
	singly  int       // so many letters are sent one at a time, to find the one the broker refuses
	held    []*letter // refused by a nack, to be sent again after a pause
	seq     uint64    // of the next letter
}

func (o *outbox) add(x *letter) {
	x.seq = o.seq
	o.seq++
	o.letters = append(o.letters, x)
}

// take returns up to n letters to be sent next, and counts them as sent.
func (o *outbox) take(n int) []*letter {
	if o.singly > 0 {
		n = 1 - o.sent
	}
	n = min(n, len(o.letters)-o.sent)
	if n <= 0 {
		return nil
	}
	batch := o.letters[o.sent : o.sent+n : o.sent+n]
	o.sent += n
	return batch
}

// confirmed removes and returns the oldest letter sent.
func (o *outbox) confirmed() *letter {
	x := o.letters[0]
	o.letters[0] = nil
	o.letters = o.letters[1:]
	o.sent--
	o.singly = max(0, o.singly-1)
	return x
}

// hold keeps a letter aside until release.
func (o *outbox) hold(x *letter) {
	x.returned = false
	o.held = append(o.held, x)
}

// release puts held letters at the end of the line.
func (o *outbox) release() {
	o.letters = append(o.letters, o.held...)
	o.held = nil
}

// mark notes a returned publishing. A return comes before its confirm and
// repeats exchange, key and body; of several letters that are the same in all
// of these it matters to nobody which one it was.
func (o *outbox) mark(r *amqp.Return) {
	for _, x := range o.letters[:o.sent] {
		if !x.returned && x.Key == r.RoutingKey && x.Exchange == r.Exchange && bytes.Equal(x.Body, r.Body) {
			x.returned = true
			return
		}
	}
}

// rewind makes all letters unsent: their channel is gone.
func (o *outbox) rewind() {
	for _, x := range o.letters[:o.sent] {
		x.returned = false
	}
	o.sent = 0
}

// remove takes out the unsent letters for which is holds.
func (o *outbox) remove(is func(*letter) bool) (out []*letter) {
	keep := slices.Clone(o.letters[:o.sent])
	for _, x := range o.letters[o.sent:] {
		if is(x) {
			out = append(out, x)
		} else {
			keep = append(keep, x)
		}
	}
	if len(out) > 0 {
		o.letters = keep
	}
	return out
}

// clear takes out everything.
func (o *outbox) clear() []*letter {
	all := append(o.letters, o.held...)
	o.letters, o.held, o.sent, o.singly = nil, nil, 0, 0
	return all
}
