package amqp

import (
	"slices"
	"sync"
)

// A verdict is what the consumer decided about a delivery.
type verdict uint8

const (
	open verdict = iota
	acked
	requeued
	dropped
)

// An entry of a book is one delivery the broker waits for.
type entry struct {
	tag     uint64
	verdict verdict
}

// A book holds the deliveries of one channel that the broker has not yet been
// told about, in the order of their tags, so that it knows which tags exist
// and which of them may be settled by one acknowledgement.
type book struct {
	mu      sync.Mutex
	entries []entry
	decided int
}

// deliver adds the next delivery; tags of a channel only grow.
func (b *book) deliver(tag uint64) {
	b.mu.Lock()
	b.entries = append(b.entries, entry{tag: tag})
	b.mu.Unlock()
}

// decide notes a verdict on one tag. A tag that is unknown, or decided
// already, is passed over. It returns the number of verdicts not yet sent.
func (b *book) decide(tag uint64, v verdict) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	i, ok := slices.BinarySearchFunc(b.entries, tag, func(e entry, tag uint64) int {
		switch {
		case e.tag < tag:
			return -1
		case e.tag > tag:
			return 1
		}
		return 0
	})
	if ok && b.entries[i].verdict == open {
		b.entries[i].verdict = v
		b.decided++
	}
	return b.decided
}

// A settlement is one method to be sent to the broker.
type settlement struct {
	tag      uint64
	verdict  verdict
	multiple bool // all deliveries up to tag, as far as they are not settled
}

// settle removes all decided deliveries and returns the methods that tell the
// broker, in the order to be sent. Rejections go first, one by one: what
// remains up to the last acknowledged delivery before the first open one is
// then exactly what a multiple acknowledgement covers.
func (b *book) settle() []settlement {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.decided == 0 {
		return nil
	}
	var out []settlement
	prefix := len(b.entries)
	for i, e := range b.entries {
		switch {
		case e.verdict == open:
			prefix = min(prefix, i)
		case e.verdict != acked:
			out = append(out, settlement{tag: e.tag, verdict: e.verdict})
		}
	}
	out = append(out, foldPrefix(b.entries[:prefix])...)
	for _, e := range b.entries[prefix:] {
		if e.verdict == acked {
			out = append(out, settlement{tag: e.tag, verdict: acked})
		}
	}
	b.entries = slices.DeleteFunc(b.entries, func(e entry) bool { return e.verdict != open })
	b.decided = 0
	return out
}

// foldPrefix acknowledges all acknowledged entries of a prefix at once.
func foldPrefix(prefix []entry) []settlement {
	for _, e := range slices.Backward(prefix) {
		if e.verdict == acked {
			return []settlement{{tag: e.tag, verdict: acked, multiple: true}}
		}
	}
	return nil
}
