package spool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"srpump/pump/broker"
)

// An outbox is a directory of files that are to become messages, in the order of their names. It is
// used by one goroutine.
type outbox struct {
	set   *settings
	now   func() time.Time
	known map[string]bool  // files that are waiting or under way
	lanes map[string]*lane // by order, those that have something
	queue []*letter        // not yet looked at, by name
}

// A lane is what must go out one after the other.
type lane struct {
	busy    bool      // its first is under way
	waiting []*letter // behind it
	retryAt time.Time // not before; zero where nothing was refused
	pause   time.Duration
}

// A letter is one file.
type letter struct {
	name  string
	order string
	meta  bool  // it has one
	size  int64 // of its body
}

func newOutbox(set *settings, now func() time.Time) *outbox {
	return &outbox{set: set, now: now, known: make(map[string]bool), lanes: make(map[string]*lane)}
}

// look reads the directory again. It returns when to look the next time at what has not settled; zero
// when all has. A file with a meta is whole: the meta is there first. Any other one is whole when nobody
// has written to it for a while.
func (o *outbox) look() (again time.Time, err error) {
	entries, err := os.ReadDir(o.set.dir)
	if err != nil {
		return again, fmt.Errorf("cannot read %q: %w", o.set.dir, cause(err))
	}
	for _, e := range entries {
		if o.known[e.Name()] || !isMessage(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue // it is gone, and will be looked at again where it is not
		}
		_, err = os.Lstat(filepath.Join(o.set.dir, e.Name()+metaSuffix)) // later than the body was seen
		l := &letter{name: e.Name(), meta: err == nil, size: info.Size()}
		if rest := info.ModTime().Add(o.set.settle); !l.meta && rest.After(o.now()) && info.ModTime().Before(o.now().Add(o.set.settle)) {
			if again.IsZero() || rest.Before(again) {
				again = rest
			}
			continue
		}
		_, _, l.order, _ = splitName(l.name)
		o.known[l.name] = true
		o.queue = append(o.queue, l)
	}
	return again, nil
}

// next is a file that may be published now: the first by name whose order has nothing under way.
func (o *outbox) next() *letter {
	for len(o.queue) > 0 {
		l := o.queue[0]
		o.queue = o.queue[1:]
		at := o.lanes[l.order]
		if at == nil {
			o.lanes[l.order] = &lane{busy: true}
			return l
		}
		i, _ := slices.BinarySearchFunc(at.waiting, l.name, func(w *letter, name string) int { return compare(w.name, name) })
		at.waiting = slices.Insert(at.waiting, i, l)
	}
	return nil
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// ended says that a file is done with, and returns what of its order may go next, or nil.
func (o *outbox) ended(l *letter) *letter {
	delete(o.known, l.name)
	at := o.lanes[l.order]
	if len(at.waiting) == 0 {
		delete(o.lanes, l.order)
		return nil
	}
	at.retryAt, at.pause = time.Time{}, 0
	first := at.waiting[0]
	at.waiting = at.waiting[1:]
	return first
}

const (
	firstPause = time.Second // before a message nobody takes is tried again, doubling up to
	lastPause  = time.Minute
)

// refused puts a file back to the front of its order, to be tried again after a while. It tells
// whether that is the first time.
func (o *outbox) refused(l *letter) (first bool) {
	at := o.lanes[l.order]
	first = at.pause == 0
	at.pause = min(max(firstPause, 2*at.pause), lastPause)
	at.busy, at.retryAt = false, o.now().Add(at.pause)
	at.waiting = slices.Insert(at.waiting, 0, l)
	return first
}

// due are the files whose pause is over; at is when the next one's will be, zero for none.
func (o *outbox) due() (letters []*letter, at time.Time) {
	for _, lane := range o.lanes {
		switch {
		case lane.busy:
		case !lane.retryAt.After(o.now()):
			lane.busy = true
			letters = append(letters, lane.waiting[0])
			lane.waiting = lane.waiting[1:]
		case at.IsZero() || lane.retryAt.Before(at):
			at = lane.retryAt
		}
	}
	return letters, at
}

// held is how many orders wait for somebody to take their message.
func (o *outbox) held() (n int) {
	for _, lane := range o.lanes {
		if !lane.busy {
			n++
		}
	}
	return n
}

// maxBody is the size in bytes of the largest message, as RabbitMQ and the local broker have it.
const maxBody = 128 << 20

// A broken file can never become a message.
type broken struct{ error }

// load makes a publishing of a file. Its error is fs.ErrNotExist when it is gone, and a broken when it
// can never be published.
func (o *outbox) load(l *letter) (p broker.Publishing, err error) {
	if l.size > maxBody {
		return p, broken{fmt.Errorf("it has %d bytes, a message has at most %d", l.size, maxBody)}
	}
	p, err = o.describe(l)
	if err != nil {
		return p, err
	}
	f, err := os.Open(filepath.Join(o.set.dir, l.name))
	if err != nil {
		return p, err
	}
	defer f.Close()
	if p.Body, err = io.ReadAll(io.LimitReader(f, maxBody+1)); err == nil && len(p.Body) > maxBody {
		err = broken{fmt.Errorf("a message has at most %d bytes", maxBody)}
	}
	return p, err
}

// maxMeta is the size in bytes of the largest meta: AMQP carries headers in one frame of 128 KiB, and
// JSON makes at most six of a byte.
const maxMeta = 1 << 20

// describe is all of the message but its body: as its meta says, or without one as its name and the
// options do.
func (o *outbox) describe(l *letter) (broker.Publishing, error) {
	if !l.meta {
		p := o.set.publish
		_, key, _, ok := splitName(l.name)
		if p.Key = key; !ok {
			return p, broken{errors.New("it has no .meta, and its name no routing key: names are NUMBER,KEY,ORDER")}
		}
		return p, nil
	}
	raw, err := readUpTo(filepath.Join(o.set.dir, l.name+metaSuffix), maxMeta)
	if err != nil {
		return broker.Publishing{}, err
	}
	m, err := decodeMeta(raw)
	if err != nil {
		return broker.Publishing{}, broken{fmt.Errorf("its .meta cannot be read: %w", err)}
	}
	p, err := m.publishing()
	if err != nil {
		return p, broken{fmt.Errorf("its .meta cannot be used: %w", err)}
	}
	p.Mandatory = o.set.publish.Mandatory
	if o.set.publish.Exchange != "" {
		p.Exchange = o.set.publish.Exchange
	}
	return p, nil
}

func readUpTo(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = broken{fmt.Errorf("it has more than %d bytes", most)}
	}
	return b, err
}

// remove takes a published file away, its meta last: what is left over then is no message.
func (o *outbox) remove(l *letter) error {
	err := os.Remove(filepath.Join(o.set.dir, l.name))
	if l.meta && (err == nil || errors.Is(err, fs.ErrNotExist)) {
		err = os.Remove(filepath.Join(o.set.dir, l.name+metaSuffix))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
