package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// window is how many events a co-process may have in hand.
const window = 64

// Pauses before a program that died is started again.
const (
	firstPause = 100 * time.Millisecond
	longPause  = 30 * time.Second
)

// A coprocess is an exec: hook: one program that lives as long as the flow, and is given one event after
// the other without waiting for its answers.
type coprocess struct {
	program Program
	options json.RawMessage
	timeout time.Duration
	room    chan struct{}

	mu      sync.Mutex
	child   *Child // nil when it is not running
	asked   []*ask // without an answer, in the order they were given
	last    int64  // id given out
	useful  bool   // it answered since it was started
	pause   time.Duration
	again   *time.Timer // the next start, when it is put off
	looking bool        // at the time of the oldest
	closed  bool
}

// An ask is one event without an answer.
type ask struct {
	id     int64
	line   []byte
	file   string // it was given
	since  time.Time
	blamed bool // the program died when it was the oldest
	result chan result
}

type result struct {
	answer answer
	err    error
}

func newCoprocess(words []string, env Env) (Hook, error) {
	if err := runnable(words[0], env.Dir); err != nil {
		return nil, err
	}
	options, err := optionsOf(env)
	return &coprocess{
		program: Program{Args: words, Dir: env.Dir, Name: env.Option, Log: env.Log},
		options: options, timeout: env.Values.Duration("hook_timeout"), room: make(chan struct{}, window),
	}, err
}

// Run gives the program an event, and waits for its answer.
func (p *coprocess) Run(ctx context.Context, e *Event) (bool, error) {
	select {
	case p.room <- struct{}{}:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	shown := show(e, p.options)
	a := &ask{file: e.Local, result: make(chan result, 1)}
	if err := p.ask(a, shown); err != nil {
		<-p.room
		return false, err
	}
	select {
	case r := <-a.result:
		if r.err != nil {
			return false, r.err
		}
		return r.answer.apply(e, shown)
	case <-ctx.Done():
		return false, ctx.Err() // its answer may still come, and nobody waits for it
	}
}

// ask queues an event and starts the program when it is not running.
func (p *coprocess) ask(a *ask, shown *request) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrClosed
	}
	p.last++
	a.id, shown.ID = p.last, p.last
	if a.line, err = shown.encode(); err != nil {
		return err
	}
	if len(p.asked) == 0 {
		a.since = time.Now()
	}
	p.asked = append(p.asked, a)
	p.look()
	switch {
	case p.child != nil:
		p.child.Send(a.line)
	case p.again == nil:
		p.start()
	}
	return nil
}

// start runs the program and gives it all that is unanswered. The lock is held.
func (p *coprocess) start() {
	p.again, p.useful = nil, false
	child, err := Start(p.program, p.answered, p.ended)
	if err != nil {
		p.failAll(err)
		return
	}
	p.child = child
	for i, a := range p.asked {
		if i == 0 {
			a.since = time.Now()
		}
		child.Send(a.line)
	}
}

// answered takes one line of the program.
func (p *coprocess) answered(line []byte) error {
	ans, err := parseAnswer(line)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		return err
	}
	i := 0
	if ans.hasID {
		i = slices.IndexFunc(p.asked, func(a *ask) bool { return a.id == ans.id })
	}
	if i < 0 || i >= len(p.asked) {
		return fmt.Errorf("%w: it is about nothing it was given", ErrAnswer)
	}
	if a := p.asked[i]; ans.File != nil && *ans.File != asShown(a.file) {
		return fmt.Errorf("%w: it is about file %.80q, given was %.80q", ErrAnswer, *ans.File, a.file)
	}
	p.useful = true
	p.settle(i, result{answer: ans})
	return nil
}

// settle takes out the ask at i and tells who waits. The clock of the oldest begins when it becomes it.
func (p *coprocess) settle(i int, r result) {
	a := p.asked[i]
	p.asked = slices.Delete(p.asked, i, i+1)
	if i == 0 && len(p.asked) > 0 {
		p.asked[0].since = time.Now()
	}
	a.result <- r
	<-p.room
}

func (p *coprocess) failAll(err error) {
	for len(p.asked) > 0 {
		p.settle(0, result{err: err})
	}
}

// ended is the end of the program. What it has not answered is given again to the next one, but for
// the oldest when it is to blame: the program was killed for it, or has died of it twice.
func (p *coprocess) ended(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.child = nil
	if p.closed {
		p.failAll(ErrClosed)
		return
	}
	if err == nil {
		err = errors.New("it has ended")
	}
	p.pause = min(max(2*p.pause, firstPause), longPause)
	if p.useful {
		p.pause = firstPause
	}
	p.program.Log.Error("hook ended, starting it again", "option", p.program.Name, "command", p.program.Args[0], "error", err, "pause", p.pause)
	if len(p.asked) > 0 {
		first := p.asked[0]
		if first.blamed || isFault(err) {
			p.settle(0, result{err: err})
		} else {
			first.blamed = true
		}
	}
	p.again = time.AfterFunc(p.pause, p.restart)
}

// restart starts the program again, when there is something for it to do.
func (p *coprocess) restart() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.again = nil
	if !p.closed && p.child == nil && len(p.asked) > 0 {
		p.start()
	}
}

// errHung is a program without an answer for too long.
var errHung = errors.New("no answer in time")

// isFault tells a program that was killed for what it did from one that died.
func isFault(err error) bool {
	return errors.Is(err, errHung) || errors.Is(err, ErrAnswer) || errors.Is(err, errLine)
}

// look sees to it that the oldest event does not wait for ever. The lock is held.
func (p *coprocess) look() {
	if p.looking || p.timeout <= 0 || len(p.asked) == 0 {
		return
	}
	p.looking = true
	time.AfterFunc(p.timeout-time.Since(p.asked[0].since), func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.looking = false
		if len(p.asked) > 0 && time.Since(p.asked[0].since) >= p.timeout {
			p.hung()
			return
		}
		p.look()
	})
}

// hung ends a program that does not answer; a pause before its start is not its fault.
func (p *coprocess) hung() {
	if p.child != nil {
		p.child.Kill(fmt.Errorf("%w: %s", errHung, p.timeout))
	}
	p.asked[0].since = time.Now()
	p.look()
}

// Close lets the program end by itself, for a while.
func (p *coprocess) Close() error {
	p.mu.Lock()
	p.closed = true
	if p.again != nil {
		p.again.Stop()
	}
	child := p.child
	if child == nil {
		p.failAll(ErrClosed)
	}
	p.mu.Unlock()
	if child != nil {
		child.Close()
	}
	return nil
}
