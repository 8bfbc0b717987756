package hook

import (
	"slices"
	"sync"
	"time"
)

// MaxWindow is the most inputs one filter is given before it answers for any, whatever it asks for: each is
// kept in memory.
const MaxWindow = 10_000

// A Stage has filters at work on files: it gives each input to one of them, and ends it when the filter has
// answered for it and every output it answers for is announced (sr_hooks(7), STAGES). What a filter that
// dies has not answered is given again.
type Stage struct {
	o StageOptions

	mu      sync.Mutex
	filters []*filter
	waiting []*StageInput // not given, in order
	last    int64         // id given out
	closed  bool
}

// StageOptions are what an operator decides about a stage, and who announces what it makes.
type StageOptions struct {
	Program   Program
	Instances int           // filters at work at once; at least one
	Timeout   time.Duration // an input may be in a filter's hands; 0 is for ever
	Idle      time.Duration // without a new input, before a filter is to answer for what it holds; 0 is for ever
	Ending    time.Duration // a filter may be silent that holds inputs when its own input has ended; 0 is for ever
	Attempts  int           // deaths in a row of those who hold an input before it is a fault; at least one
	// Output begins to announce what a filter made, and sees to it that Done is called once. It may wait,
	// and the filter's next answer with it.
	Output func(*StageOutput)
	// Hungry, where set, is called when a filter has said something, and would now take more than there is.
	Hungry func()
}

// NewProgram reads a command, whose words are apart by blanks and may be quoted, and refuses one that cannot be
// run from a working directory.
func NewProgram(command, dir string) (Program, error) {
	words, err := splitWords(command)
	if err != nil {
		return Program{}, err
	}
	return Program{Args: words, Dir: dir}, runnable(words[0], dir)
}

// NewStage makes a stage. No filter runs before there is something for it to do.
func NewStage(o StageOptions) *Stage {
	s := &Stage{o: o}
	for range max(1, o.Instances) {
		s.filters = append(s.filters, newFilter(s))
	}
	return s
}

// Give queues an input; it does not wait. Done of the input is called once, unless the stage is closed or the
// input withdrawn.
func (s *Stage) Give(in *StageInput) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.last++
	in.id = s.last
	s.waiting = append(s.waiting, in)
	s.feed()
}

// feed gives what waits to the filter with the least in hand, as far as there is room. The lock is held.
func (s *Stage) feed() {
	for len(s.waiting) > 0 && !s.closed {
		f := s.freest()
		if f == nil || !f.take(s.waiting[0]) {
			return
		}
		s.waiting[0] = nil
		s.waiting = s.waiting[1:]
	}
}

// freest is the filter with room that holds least; one that does not run is started when no other has room.
func (s *Stage) freest() (best *filter) {
	var idle *filter
	for _, f := range s.filters {
		switch {
		case f.room() > 0 && (best == nil || len(f.held) < len(best.held)):
			best = f
		case f.child == nil && f.again == nil && idle == nil:
			idle = f
		}
	}
	if best == nil && idle != nil && idle.start() {
		return idle
	}
	return best
}

// Withdraw takes back an input no filter has been given, and reports whether it did.
func (s *Stage) Withdraw(in *StageInput) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.waiting, in)
	if i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
	}
	return i >= 0
}

// Flush has the filters answer for what they hold, by the end of their input, when nothing waits. They are
// started again for what comes then.
func (s *Stage) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.filters {
		if len(s.waiting) == 0 && f.child != nil && len(f.held) > 0 {
			f.finish()
		}
	}
}

// Counts are how many inputs wait for a filter, how many the filters hold, and how many more they would take.
func (s *Stage) Counts() (waiting, held, room int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.filters {
		held += len(f.held)
		room += f.room()
	}
	return len(s.waiting), held, room
}

// Holds reports whether a filter has an input in hand.
func (s *Stage) Holds(in *StageInput) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.filters, func(f *filter) bool { return f.held[in.id] == in })
}

// Window is how many inputs all filters together may hold.
func (s *Stage) Window() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.filters {
		n += f.window
	}
	return n
}

// Close ends the filters: by the end of their input, and soon by force. What they answer until then counts;
// of the rest Done is not called.
func (s *Stage) Close() {
	var over sync.WaitGroup
	s.mu.Lock()
	s.closed = true
	for _, f := range s.filters {
		if f.again != nil {
			f.again.Stop()
		}
		if f.rest != nil {
			f.rest.Stop()
		}
		if child := f.child; child != nil {
			over.Go(child.Close)
		}
	}
	s.mu.Unlock()
	over.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = nil
	for _, f := range s.filters {
		clear(f.held)
	}
}
