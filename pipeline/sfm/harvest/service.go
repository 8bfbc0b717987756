package harvest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"

	"srpump/pipeline/sfm"
	"srpump/pipeline/spool"
)

// The directories of a spool.
const (
	InDir       = "in"       // what sr_spool in brings: requests, and who is to stop
	OutDir      = "out"      // what sr_spool out takes: all that is said
	AnnounceDir = "announce" // and the announcements of files
	doneDir     = "done"     // of harvests that have ended
	failedDir   = "failed"   // of what is no request
)

const (
	relook   = 5 * time.Second  // without anything having been noticed in the spool
	busyWait = 10 * time.Second // for a collection another process works in
	failWait = time.Minute      // before what could not be kept is tried again
	// keepDone is how long a harvest that has ended is known, should its request come again.
	keepDone = 90 * 24 * time.Hour
)

// A Service does the harvests that are asked for in a spool, several at once, but one at a time for
// each type and collection. It has one goroutine of its own.
type Service struct {
	Dir       string
	Harvester *Harvester
	Jobs      int // harvests at once, besides streams
	Log       *slog.Logger
	Now       func() time.Time

	tasks map[string]*task // by id
	files map[string]bool  // names in the spool that were looked at
	again time.Time        // when to look at what has not settled
	ended chan ending
}

// A task is a harvest that was asked for.
type task struct {
	id, key  string
	place    string // where it works: one at a time
	stream   bool
	body     []byte
	files    []string // in the spool: its request, and what else is about it
	stop     chan struct{}
	stopped  bool
	running  bool
	notUntil time.Time
}

// An ending is a run of a task that is over.
type ending struct {
	task    *task
	outcome Outcome
	err     error
}

// Run works until ctx ends, and then until all harvests have paused.
func (s *Service) Run(ctx context.Context) error {
	a, err := spool.Attend(s.Dir, "sfm_harvest", InDir, OutDir, doneDir, failedDir)
	if err != nil {
		return err
	}
	defer a.Close()
	if err := spool.ForgetBefore(filepath.Join(s.Dir, doneDir), "", s.Now().Add(-keepDone)); err != nil {
		return fmt.Errorf("cannot clear the spool: %w", err)
	}
	s.tasks, s.files, s.ended = make(map[string]*task), make(map[string]bool), make(chan ending)
	s.warnOfReaders()
	s.Log.Info("serving", "directory", s.Dir)
	return s.serve(ctx, a.Changes)
}

// warnOfReaders says that strangers can read the credentials in requests, if they can.
func (s *Service) warnOfReaders() {
	for dir := filepath.Join(s.Dir, InDir); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err != nil || info.Mode()&0o001 == 0 {
			return
		}
	}
	s.Log.Warn("others can read the requests", "directory", s.Dir, "hint", "chmod o-rwx "+s.Dir)
}

// serve looks at the spool whenever something has happened.
func (s *Service) serve(ctx context.Context, changes *fsnotify.Watcher) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	running, err := 0, error(nil)
	for {
		if ctx.Err() == nil && err == nil {
			if err = s.look(); err == nil {
				running += s.begin(ctx)
			}
		}
		if running == 0 && (ctx.Err() != nil || err != nil) {
			return err
		}
		timer.Reset(s.pause())
		select {
		case e := <-s.ended:
			running--
			s.end(e)
		case <-changes.Events:
		case <-changes.Errors: // some were lost, and so all is looked at
		case <-timer.C:
		case <-done(ctx, err):
		}
	}
}

// done is ctx's end, unless that was seen already.
func done(ctx context.Context, err error) <-chan struct{} {
	if ctx.Err() != nil || err != nil {
		return nil
	}
	return ctx.Done()
}

// pause is how long nothing is to be done unless something happens.
func (s *Service) pause() time.Duration {
	wait := relook
	if !s.again.IsZero() {
		wait = min(wait, max(0, s.again.Sub(s.Now())))
	}
	return wait
}

// begin starts what may be started, those with priority first, and returns how many there are.
func (s *Service) begin(ctx context.Context) (n int) {
	busy, rest := make(map[string]bool), 0
	var waiting []*task
	for _, t := range s.tasks {
		switch {
		case t.running:
			busy[t.place] = true
			if !t.stream {
				rest++
			}
		case !t.notUntil.After(s.Now()):
			waiting = append(waiting, t)
		}
	}
	slices.SortFunc(waiting, byTurn)
	for _, t := range waiting {
		if busy[t.place] || !t.stream && rest >= s.Jobs {
			continue
		}
		busy[t.place], t.running = true, true
		if !t.stream {
			rest++
		}
		n++
		go func() {
			outcome, err := s.Harvester.Run(ctx, Job{Body: t.body, Key: t.key, Stop: t.stop, Ended: func(o Outcome) error { return s.remember(t.id, o) }})
			s.ended <- ending{t, outcome, err}
		}()
	}
	return n
}

// byTurn orders tasks: those with priority, then as they came.
func byTurn(a, b *task) int {
	if x, y := priority(a.key), priority(b.key); x != y {
		if x {
			return -1
		}
		return 1
	}
	return slices.Compare(a.files, b.files)
}

func priority(key string) bool {
	k, ok := sfm.ParseKey(key)
	return ok && k.Priority
}

// end removes the files of a task that is done; one that is not is tried again.
func (s *Service) end(e ending) {
	t := e.task
	t.running = false
	switch {
	case e.outcome == Succeeded, e.outcome == Failed:
		for _, name := range t.files {
			s.remove(name)
		}
		delete(s.tasks, t.id)
	case errors.Is(e.err, ErrBusy):
		s.Log.Info("harvest waits for its collection", "harvest", t.id, "error", e.err)
		t.notUntil = s.Now().Add(busyWait)
	case e.err != nil:
		s.Log.Error("harvest put off", "harvest", t.id, "error", e.err)
		t.notUntil = s.Now().Add(failWait)
	}
}

// remove takes a file out of the spool.
func (s *Service) remove(name string) {
	if err := spool.Remove(filepath.Join(s.Dir, InDir), name); err != nil {
		s.Log.Error("request not removed", "file", name, "error", err)
	}
	delete(s.files, name)
}
