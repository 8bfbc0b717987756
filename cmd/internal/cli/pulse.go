package cli

import (
	"context"
	"maps"
	"os"
	"sync"
	"time"

	"srpump/pump/config"
	"srpump/pump/daemon"
)

// A pulse says of what runs for long how it gets on: to the file others look at, to who started
// it, and to systemd. A nil pulse says nothing.
type pulse struct {
	st     config.State
	s      *session
	super  *daemon.Supervisor
	over   chan struct{}
	beats  sync.WaitGroup
	mu     sync.Mutex
	p      daemon.Progress
	w      worker
	before daemon.Counts // of the workers before w
	limit  time.Duration // after which w hangs when it does not get on; 0 is none
	now    bool          // w works
	ever   bool          // some worker did
	failed bool          // the file could not be written, which was said
	others []string      // logs v02 may have left of further instances
}

const (
	lookEvery = 3 * time.Second  // at what may have changed
	beatEvery = 30 * time.Second // a sign of life when nothing has
	leastBeat = 100 * time.Millisecond
)

func newPulse(s *session, st config.State) *pulse {
	now := time.Now()
	p := &pulse{st: st, s: s, super: daemon.TheSupervisor(), over: make(chan struct{}), before: daemon.Counts{}, p: daemon.Progress{
		PID: os.Getpid(), Instance: s.instance, Version: Version, Config: s.cfg.Path, Started: now, State: daemon.Connecting,
		MovedUptime: daemon.Uptime(), BeatEvery: beatEvery,
	}}
	if dead := s.cfg.Values.Duration("sanity_log_dead"); dead > 0 {
		p.p.BeatEvery = max(min(beatEvery, dead/4), leastBeat)
	}
	return p
}

// start begins to beat, until what it returns is called.
func (p *pulse) start(ctx context.Context) (end func()) {
	p.mu.Lock()
	p.write()
	p.mu.Unlock()
	forget := context.AfterFunc(ctx, func() { p.state(daemon.Stopping); p.super.Stopping() })
	p.beats.Go(p.beat)
	return func() {
		forget()
		close(p.over)
		p.beats.Wait()
	}
}

func (p *pulse) beat() {
	every := min(lookEvery, p.p.BeatEvery)
	if w := p.super.WatchdogEvery(); w > 0 && w < every {
		every = w
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			p.look()
		case <-p.over:
			return
		}
	}
}

// look writes what has changed, and now and then that nothing has.
func (p *pulse) look() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w == nil {
		return
	}
	now := daemon.Uptime()
	inHand := p.p.InHand
	counts := p.counts()
	p.p.InHand, p.p.Oldest = p.w.InHand()
	p.p.Retries = p.w.Retries()
	moved := !maps.Equal(counts, p.p.Counters) || p.p.InHand < inHand
	if moved || p.p.InHand == 0 || !p.p.Paused.IsZero() {
		p.p.MovedUptime = now
	}
	if p.super.WatchdogEvery() > 0 && !p.hung(now) {
		p.super.Alive()
	}
	if moved || now-p.p.BeatUptime >= p.p.BeatEvery {
		p.write()
		p.freshen(now)
	}
}

// freshen touches the logs of the other instances, where v02 has left some: its sanity ends the process
// of one whose log is old, which is this process.
func (p *pulse) freshen(now time.Duration) {
	if p.hung(now) {
		return
	}
	for _, log := range p.others {
		_ = os.Chtimes(log, time.Time{}, time.Now()) // most are not there
	}
}

// hung is about the worker: this heart beats.
func (p *pulse) hung(now time.Duration) bool {
	mine := p.p
	mine.BeatUptime = now
	return mine.Hung(now, p.limit)
}

// counts are those of all workers so far.
func (p *pulse) counts() daemon.Counts {
	sum := maps.Clone(p.before)
	for name, n := range p.w.Count() {
		sum[name] += n
	}
	return sum
}

// write replaces the file. It is of no weight: a full disk must not end what it is about.
func (p *pulse) write() {
	if p.w != nil {
		p.p.Counters = p.counts()
	}
	p.p.Beat, p.p.BeatUptime = time.Now(), daemon.Uptime()
	if err := p.p.Write(p.st); err == nil {
		p.failed = false
	} else if !p.failed {
		p.failed = true
		p.s.log.Warn("progress not written", "error", err)
	}
}

// attend turns to the next worker.
func (p *pulse) attend(w worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w != nil {
		p.before = p.counts()
	}
	p.p.Paused, p.p.PausedFor = time.Time{}, ""
	p.w, p.now, p.limit = w, false, p.s.cfg.Values.Duration("sanity_log_dead")
	p.others = p.s.otherLogs()
}

// otherLogs are the files v02 logs to from the further instances this process stands for.
func (s *session) otherLogs() (logs []string) {
	for i := daemon.Started + 1; s.instance > 0 && i <= s.instances(); i++ {
		if log := s.logPath(i); log != s.logPath(s.instance) {
			logs = append(logs, log)
		}
	}
	return logs
}

// ready says that the worker works.
func (p *pulse) ready() {
	if p == nil {
		return
	}
	p.state(daemon.Running)
	p.mu.Lock()
	p.now, p.ever = true, true
	p.mu.Unlock()
	p.s.parent.Ready()
	p.super.Ready()
	p.super.Status("running")
}

// away says that a broker is not reached, or with nil that all are.
func (p *pulse) away(why error) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	was := !p.p.Unreachable.IsZero()
	if was == (why != nil) {
		return
	}
	if why == nil {
		p.p.Unreachable, p.p.Trouble, p.p.MovedUptime = time.Time{}, "", daemon.Uptime()
		p.write()
		p.super.Status(p.p.State)
		return
	}
	p.p.Unreachable, p.p.Trouble = time.Now(), why.Error()
	p.write() // first: who is told will look
	p.super.Ready()
	p.super.Status(why.Error())
	p.s.parent.Unreachable(why)
}

// paused says why nothing is taken in for a while, or with nil that it is again.
func (p *pulse) paused(why error) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.p.Paused, p.p.PausedFor, p.p.MovedUptime = time.Time{}, "", daemon.Uptime()
	status := p.p.State
	if why != nil {
		p.p.Paused, p.p.PausedFor = time.Now(), why.Error()
		status = "paused: " + why.Error()
	}
	p.write()
	p.super.Status(status)
}

// reloading says that the worker makes room for one with a new configuration.
func (p *pulse) reloading() {
	p.super.Reloading()
	p.state(daemon.Connecting)
}

func (p *pulse) state(word string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.p.State != daemon.Stopping {
		p.p.State = word
		p.write()
	}
}

// works reports whether the worker of now has come to work, everWorked whether any has.
func (p *pulse) works() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

func (p *pulse) everWorked() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ever
}
