// Package outbox is where a program leaves what it has to say to others: files that sr_spool out
// publishes (sr_spool(1)), so that work goes on while the broker is away, and nothing that was said
// is lost when the program is killed.
package outbox

import (
	"fmt"
	"os"
	"sync"
	"time"

	"srpump/pipeline/spool"
	"srpump/pump/broker"
)

// A Box is a directory of messages. Several goroutines may use one, and several processes a directory.
type Box struct {
	dir  string
	like broker.Publishing
	now  func() time.Time

	mu   sync.Mutex
	last uint64
}

// Open makes the directory and opens it. What is put into it gets the exchange and the properties
// of like.
func Open(dir string, like broker.Publishing, now func() time.Time) (*Box, error) {
	if err := os.MkdirAll(dir, 0o775); err != nil {
		return nil, fmt.Errorf("cannot make the outbox: %w", err)
	}
	names, err := spool.List(dir)
	if err != nil {
		return nil, err
	}
	b := &Box{dir: dir, like: like, now: now}
	for _, name := range names {
		number, _, _ := spool.Parts(name)
		b.last = max(b.last, number)
	}
	return b, nil
}

// Message is what all messages of a kind have in common: an exchange, and JSON as their body, with
// the properties the services of SFM send.
func Message(exchange string) broker.Publishing {
	return broker.Publishing{Exchange: exchange, ContentType: "application/json", ContentEncoding: "utf-8"}
}

// Next is a number behind all that were given out, that are in the directory, and that are at least:
// nanoseconds since 1970, unless the clock went back.
func (b *Box) Next(least uint64) uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = max(b.last+1, least, uint64(max(0, b.now().UnixNano())))
	return b.last
}

// Put leaves a message with a number of Next. Those that share an order go out by their numbers. The
// same one again is the same file. When Put returns the message is durable.
func (b *Box) Put(number uint64, key, order string, headers map[string]any, body []byte) error {
	p := b.like
	p.Key, p.Body, p.Headers = key, body, headers
	return spool.Leave(b.dir, spool.Name(number, key, order), p)
}
