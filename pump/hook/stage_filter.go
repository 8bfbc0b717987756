package hook

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// mostUnclaimed is how many outputs a filter may say before the answer they belong to, and not announced yet.
const mostUnclaimed = 10_000

// A filter is one program of a stage, and what it holds. The lock of the stage guards it.
type filter struct {
	stage *Stage

	child     *Child    // nil when it is not running
	window    int       // inputs it takes
	greeted   bool      // it has said something
	useful    bool      // it answered for an input
	finishing bool      // its input has ended
	heard     time.Time // it last said something, or its input ended
	held      map[int64]*StageInput
	unclaimed []*StageOutput // said for no input, since its last ok, and not yet announced
	failed    error          // of an output like these
	pause     time.Duration
	again     *time.Timer // the next start, when it is put off
	looking   bool        // at the time of what it holds
	fed       time.Time   // it was given something
	rest      *time.Timer // since then, with the option of it
}

func newFilter(s *Stage) *filter { return &filter{stage: s, held: make(map[int64]*StageInput)} }

// room is how many inputs it would take now.
func (f *filter) room() int {
	if f.child == nil || f.finishing {
		return 0
	}
	return max(0, f.window-len(f.held))
}

// start runs the program, and reports whether it runs.
func (f *filter) start() bool {
	f.again, f.window = nil, 1
	f.greeted, f.useful, f.finishing = false, false, false
	child, err := Start(f.stage.o.Program, f.said, f.ended)
	if err != nil {
		f.later(err, 0)
		return false
	}
	f.child = child
	return true
}

// later starts the program again after a pause, which grows while it is of no use.
func (f *filter) later(why error, held int) {
	p := f.stage.o.Program
	f.pause = min(max(2*f.pause, firstPause), longPause)
	if f.useful {
		f.pause = firstPause
	}
	p.Log.Error("stage ended, starting it again", "command", p.Args[0], "error", why, "held", held, "pause", f.pause)
	f.again = time.AfterFunc(f.pause, f.restart)
}

func (f *filter) restart() {
	s := f.stage
	s.mu.Lock()
	defer s.mu.Unlock()
	f.again = nil
	s.feed()
}

// take gives the filter an input, and reports whether it did: one that may be what it dies of is given when
// it holds no other, and is all it is given.
func (f *filter) take(in *StageInput) bool {
	alone := in.suspected(f.stage.o.Attempts)
	if alone && len(f.held) > 0 {
		f.finish()
		return false
	}
	line, err := in.encode()
	if err != nil { // there is no text JSON cannot hold once it has made it UTF-8
		line = fmt.Appendf(nil, "{\"id\":%d}\n", in.id)
	}
	in.given, in.late, in.failed, in.owed = time.Now(), false, nil, 0
	in.life++
	f.held[in.id] = in
	f.child.Send(line)
	if alone {
		f.finish()
	}
	f.look()
	f.waits()
	return true
}

// said takes one line of the filter.
func (f *filter) said(line []byte) error {
	l, err := parseStageLine(line)
	if err != nil {
		return err
	}
	s := f.stage
	s.mu.Lock()
	first := !f.greeted
	f.greeted, f.heard = true, time.Now()
	if l.makes() {
		o, err := f.made(&l)
		s.mu.Unlock()
		if err == nil {
			s.o.Output(o)
		}
		return err
	}
	var ended []*StageInput
	if l.greets() {
		err = f.greet(&l, first)
	} else {
		ended, err = f.answer(&l)
	}
	s.feed()
	hungry := s.o.Hungry != nil && len(s.waiting) == 0 && f.room() > 0
	s.mu.Unlock()
	tell(ended)
	if hungry {
		s.o.Hungry()
	}
	return err
}

func (f *filter) greet(l *stageLine, first bool) (err error) {
	if !first {
		return fmt.Errorf("%w: a greeting after something else", ErrAnswer)
	}
	f.window, err = l.greeting()
	return err
}

// made notes an output and who answers for it.
func (f *filter) made(l *stageLine) (*StageOutput, error) {
	o, err := l.output()
	if err != nil {
		return nil, err
	}
	o.filter = f
	inputs, err := f.find(l.For)
	if err != nil {
		return nil, err
	}
	o.inputs = stakes(inputs)
	for _, in := range inputs {
		in.owed++
		o.Again = o.Again || in.Again || in.deaths > 0
	}
	if len(o.inputs) == 0 {
		if len(f.unclaimed) >= mostUnclaimed {
			return nil, fmt.Errorf("%w: %d outputs without an answer", ErrAnswer, len(f.unclaimed))
		}
		f.unclaimed = append(f.unclaimed, o)
	}
	return o, nil
}

// find are the inputs of ids, each of which the filter must hold.
func (f *filter) find(l ids) ([]*StageInput, error) {
	found := make([]*StageInput, 0, len(l))
	named := make(map[int64]bool, len(l))
	for _, id := range l {
		in := f.held[id]
		if in == nil || named[id] {
			return nil, fmt.Errorf("%w: it holds no input %d", ErrAnswer, id)
		}
		named[id] = true
		found = append(found, in)
	}
	return found, nil
}

// answer ends inputs, or with outputs not announced yet has them end then.
func (f *filter) answer(l *stageLine) (ended []*StageInput, err error) {
	about, v := l.answer()
	inputs, err := f.find(about)
	if err != nil {
		return nil, err
	}
	if v.Answer == StageOK && len(inputs) > 0 {
		f.claim(inputs)
	}
	for _, in := range inputs {
		delete(f.held, in.id)
		in.answered, in.verdict = true, v
		if _, over := in.over(); over {
			ended = append(ended, in)
		}
	}
	f.useful = f.useful || len(inputs) > 0
	if f.finishing && len(inputs) > 0 && len(f.held) == 0 {
		f.dismiss()
	}
	return ended, nil
}

// claim has inputs answer for the outputs said since the last claim.
func (f *filter) claim(inputs []*StageInput) {
	for _, in := range inputs {
		in.owed += len(f.unclaimed)
		if in.failed == nil {
			in.failed = f.failed
		}
	}
	for _, o := range f.unclaimed {
		o.inputs = stakes(inputs)
	}
	f.unclaimed, f.failed = nil, nil
}

// settle forgets an output nobody answers for yet; that it failed is kept for who will.
func (f *filter) settle(o *StageOutput, err error) {
	i := slices.Index(f.unclaimed, o)
	if i < 0 {
		return // of a filter that has died
	}
	f.unclaimed = slices.Delete(f.unclaimed, i, i+1)
	if f.failed == nil {
		f.failed = err
	}
}

// ended is the end of the program. What it has not answered for is given again, first, unless that was its
// fault too often.
func (f *filter) ended(err error) {
	s := f.stage
	s.mu.Lock()
	f.child, f.unclaimed, f.failed = nil, nil, nil
	if s.closed {
		s.mu.Unlock()
		return
	}
	left := len(f.held)
	if err == nil && left > 0 {
		err = errors.New("it ended without an answer for all it was given")
	}
	faults := f.takeBack(err)
	if err != nil || !f.useful && !f.finishing {
		f.later(orEnded(err), left)
	} else {
		f.pause = 0
	}
	s.feed()
	s.mu.Unlock()
	tell(faults)
}

func orEnded(err error) error {
	if err == nil {
		return errors.New("it ended without an answer")
	}
	return err
}

// takeBack puts what the filter held back to what waits, in its order, and returns what is not given again.
func (f *filter) takeBack(err error) (faults []*StageInput) {
	s := f.stage
	back := make([]*StageInput, 0, len(f.held))
	late := anyLate(f.held)
	for _, in := range f.held {
		if in.late || !late {
			in.deaths++
		}
		if in.deaths < max(1, s.o.Attempts) {
			back = append(back, in)
			continue
		}
		in.answered = true
		in.verdict = Verdict{Answer: StageFault, Why: shortened(fmt.Sprintf("the filter died of it, %d times: %v", in.deaths, err))}
		if _, over := in.over(); over {
			faults = append(faults, in)
		}
	}
	clear(f.held)
	slices.SortFunc(back, func(a, b *StageInput) int { return int(a.id - b.id) })
	s.waiting = append(back, s.waiting...)
	return faults
}

func anyLate(held map[int64]*StageInput) bool {
	for _, in := range held {
		if in.late {
			return true
		}
	}
	return false
}

// look sees to it that no input is in the filter's hands for longer than allowed. The lock is held.
func (f *filter) look() {
	t := f.stage.o.Timeout
	if f.looking || t <= 0 || len(f.held) == 0 {
		return
	}
	oldest := time.Now()
	for _, in := range f.held {
		if in.given.Before(oldest) {
			oldest = in.given
		}
	}
	f.looking = true
	time.AfterFunc(t-time.Since(oldest), f.overdue)
}

// overdue ends a filter that holds an input for too long.
func (f *filter) overdue() {
	s := f.stage
	s.mu.Lock()
	defer s.mu.Unlock()
	f.looking = false
	late := false
	for _, in := range f.held {
		in.late = time.Since(in.given) >= s.o.Timeout
		late = late || in.late
	}
	if late && f.child != nil {
		f.child.Kill(fmt.Errorf("%w: %s", errHung, s.o.Timeout))
		return
	}
	f.look()
}
