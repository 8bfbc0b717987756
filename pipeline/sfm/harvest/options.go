package harvest

import (
	"cmp"
	"errors"
	"log/slog"
	"time"

	"srpump/pipeline/sfm"
)

// An Outbox takes messages, durably. Those of one order must arrive by their numbers.
type Outbox interface {
	// Next is a number behind all that were given out, and at least the one said.
	Next(least uint64) uint64
	// Put takes a message; the same number, key and order again is the same message.
	Put(number uint64, key, order string, headers map[string]any, body []byte) error
}

// Options are how harvests are done.
type Options struct {
	Out      Outbox
	Announce *Announce // nil announces no files
	Types    []*Type
	Bases    map[string]string // api_base by type, for requests that say none
	Prefixes sfm.Prefixes
	Roll     time.Duration // of a WARC; 0 is half an hour
	Size     int64         // of a WARC, in bytes; 0 is 1 GB
	Tries    int           // of a harvest; 0 is without end
	TryPause time.Duration // between two of them
	Patience Patience      // with servers; what is 0 is the default
	Status   time.Duration // between two statuses of a stream; 0 is five minutes
	// Paused tells that requesters know the statuses stopping and paused; they are said as running
	// else. SFM UI 3 does.
	Paused bool
	Links  bool // the addresses in what is harvested are asked to be harvested, too
	Exact  bool // records hold credentials

	// Known tells whether the requester knows a WARC already, by its id; nil knows none. After a kill he
	// is not told of those again.
	Known func(warcID string) bool

	Host, Instance, Software string // who does it
	Log                      *slog.Logger
	Now                      func() time.Time
	// At is called before each step of what must survive a kill, with its name; nil is nothing. Tests
	// kill there.
	At func(step string)
}

const (
	defaultRoll   = 30 * time.Minute
	defaultSize   = 1_000_000_000
	defaultStatus = 5 * time.Minute
)

func (o Options) defaults() Options {
	o.Roll, o.Size, o.Status = cmp.Or(o.Roll, defaultRoll), cmp.Or(o.Size, defaultSize), cmp.Or(o.Status, defaultStatus)
	o.Size = min(o.Size, longest-overhead)
	o.Patience = o.Patience.defaults()
	if o.At == nil {
		o.At = func(string) {}
	}
	return o
}

func (o *Options) kind(name string) *Type {
	for _, t := range o.Types {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// local is where a path of a message is here.
func (o *Options) local(name string) string { return o.Prefixes.Local(name) }

// place tells why nothing can be harvested into a path of a message.
func (o *Options) place(name string) error {
	local, err := o.Prefixes.Resolve(name)
	if err == nil && o.Announce != nil {
		_, err = o.Announce.rel(local)
	}
	if err != nil {
		return Refuse(sfm.BadRequest, "%s", err)
	}
	return nil
}

// An Outcome is how a harvest has ended.
type Outcome int

// The outcomes.
const (
	Unfinished Outcome = iota // nothing could be said; it is to be tried again
	Succeeded
	Failed
	Paused // it goes on when it is asked for again
)

// ErrBusy is a collection in which another process harvests the same kind of thing.
var ErrBusy = errors.New("another harvest of this type works on the collection")

// ErrMalformed is a request that says not even who asks.
var ErrMalformed = errors.New("it cannot be answered")

// status is the word for how a harvest has ended.
func (o Outcome) status() string {
	if o == Succeeded {
		return sfm.Success
	}
	return sfm.Failure
}
