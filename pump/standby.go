package pump

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"srpump/pump/broker"
)

// A lookout knows whether this host has an address, and how often to look.
type lookout struct {
	holds func(address string) bool
	every time.Duration
}

// lookEvery is how often v02 looks too (sr_options(5), vip).
const lookEvery = 5 * time.Second

// A standby is a consumer that gives something only while this host has the address of the option
// vip. Without it nothing is held, so that all is there for the host which has it.
type standby struct {
	address string
	lookout lookout
	open    func(context.Context) ([]broker.Consumer, error)
	log     *slog.Logger

	life context.Context
	end  context.CancelFunc
	over sync.WaitGroup

	mu      sync.Mutex
	now     *tenure // nil while another host has the address
	changed chan struct{}
	waits   bool  // which was said
	err     error // why there will be nothing again
	last    uint64
	given   map[uint64]given // by number of delivery
}

// A tenure is one time this host has the address. Its deliveries end with it: tags of the
// next may look the same.
type tenure struct {
	*spread
	open int           // given and not ended
	idle chan struct{} // closed once open is 0, when somebody waits for it
	over atomic.Bool   // what is not ended has gone back
}

type given struct {
	by  *tenure
	tag broker.Tag
}

func newStandby(f *Flow) *standby {
	s := &standby{address: f.plan.vip, lookout: f.lookout, open: f.openParts, log: f.host.Log, changed: make(chan struct{}), given: make(map[uint64]given)}
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// start begins to look, time and again.
func (s *standby) start() { s.over.Go(s.watch) }

func (s *standby) watch() {
	tick := time.NewTicker(s.lookout.every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-s.life.Done():
			return
		}
		if err := s.look(s.life); err != nil {
			s.turn(nil, err)
			return
		}
	}
}

// look takes up work when the address has come, and leaves it when it has gone.
func (s *standby) look(ctx context.Context) error {
	here := s.lookout.holds(s.address)
	s.say(here)
	s.mu.Lock()
	t := s.now
	s.mu.Unlock()
	switch {
	case here && t == nil:
		parts, err := s.open(ctx)
		if err != nil {
			return err
		}
		if !s.lookout.holds(s.address) { // the broker may have kept us waiting
			return closeAll(parts)
		}
		s.turn(&tenure{spread: newSpread(parts)}, nil)
	case !here && t != nil:
		s.turn(nil, nil)
		s.leave(t)
	}
	return nil
}

// leave takes nothing more, and gives back what was not given out when what was has ended, or has
// taken until the next look.
func (s *standby) leave(t *tenure) {
	t.halt()
	s.mu.Lock()
	idle := make(chan struct{})
	if t.idle = idle; t.open == 0 {
		close(idle)
		t.idle = nil
	}
	s.mu.Unlock()
	patience := time.NewTimer(s.lookout.every)
	defer patience.Stop()
	select {
	case <-idle:
	case <-patience.C:
	case <-s.life.Done():
	}
	t.over.Store(true)
	if err := t.Close(); err != nil {
		s.log.Warn("stopped with errors", "error", err)
	}
}

// turn begins or ends a tenure.
func (s *standby) turn(t *tenure, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now, s.err = t, err
	close(s.changed)
	s.changed = make(chan struct{})
}

// say says once that another host has the address, and once that it is here again.
func (s *standby) say(here bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.waits == !here:
		return
	case here:
		s.log.Info("in charge", "address", s.address)
	default:
		s.log.Info("standing by", "address", s.address)
	}
	s.waits = !here
}

// waiting reports whether another host is to work. A nil standby never waits.
func (s *standby) waiting() bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waits
}

// Next implements broker.Consumer.
func (s *standby) Next(ctx context.Context) (*broker.Delivery, error) {
	for {
		s.mu.Lock()
		t, err, changed := s.now, s.err, s.changed
		s.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case s.life.Err() != nil:
			return nil, broker.ErrClosed
		case err != nil:
			return nil, err
		case t == nil:
			select {
			case <-changed:
			case <-ctx.Done():
			case <-s.life.Done():
			}
			continue
		}
		d, err := t.Next(ctx)
		if err == nil && s.give(t, d) {
			return d, nil
		}
		if err != nil && (t.taking.Err() == nil || !errors.Is(err, broker.ErrClosed)) {
			return nil, err
		}
	}
}

// give counts a delivery. One that comes as its tenure ends is not given, and goes back.
func (s *standby) give(t *tenure, d *broker.Delivery) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now != t {
		return false
	}
	s.last++
	s.given[s.last] = given{t, d.Tag}
	t.open++
	d.Tag = broker.Tag{N: s.last}
	return true
}

// Ack implements broker.Consumer.
func (s *standby) Ack(tags ...broker.Tag) error {
	return s.settle(tags, (*tenure).Ack)
}

// Reject implements broker.Consumer.
func (s *standby) Reject(requeue bool, tags ...broker.Tag) error {
	return s.settle(tags, func(t *tenure, own ...broker.Tag) error { return t.Reject(requeue, own...) })
}

// settle ends deliveries. Those of a tenure that is over have gone back already.
func (s *standby) settle(tags []broker.Tag, tell func(*tenure, ...broker.Tag) error) (err error) {
	for t, own := range s.owners(tags) {
		if !t.over.Load() {
			err = errors.Join(err, tell(t, own...))
		}
		s.ended(t, len(own))
	}
	return err
}

// owners sorts tags by the tenure they were given out in, as they were then.
func (s *standby) owners(tags []broker.Tag) map[*tenure][]broker.Tag {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[*tenure][]broker.Tag, 1)
	for _, tag := range tags {
		if g, ok := s.given[tag.N]; ok {
			delete(s.given, tag.N)
			out[g.by] = append(out[g.by], g.tag)
		}
	}
	return out
}

// ended counts what a tenure still waits for.
func (s *standby) ended(t *tenure, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.open -= n; t.open == 0 && t.idle != nil {
		close(t.idle)
		t.idle = nil
	}
}

// Close implements broker.Consumer.
func (s *standby) Close() error {
	s.end()
	s.over.Wait()
	s.mu.Lock()
	t := s.now
	s.now = nil
	s.mu.Unlock()
	if t == nil {
		return nil
	}
	return t.Close()
}
