package harvest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"srpump/pipeline/sfm"
	"srpump/pipeline/warc"
)

// pauseGrace is how long what is asked of a server may still take when the harvest is to end.
const pauseGrace = 20 * time.Second

// run does a harvest that can be done.
func (h *harvest) run(ctx context.Context, job Job) (Outcome, error) {
	lock, err := h.claim()
	if errors.Is(err, ErrBusy) {
		return Unfinished, fmt.Errorf("cannot harvest into %q: %w", h.collection, err)
	}
	if err != nil {
		return h.refuse(&PersistError{err}, job)
	}
	defer lock.Close()
	resumed, err := h.enter()
	switch {
	case err != nil && resumed:
		return Unfinished, &PersistError{err}
	case err != nil: // there is nothing in it yet
		return h.refuse(&PersistError{errors.Join(err, discard(h.dir))}, job)
	}
	var f final
	switch err := readJSON(filepath.Join(h.dir, finalName), &f); {
	case err == nil:
		return h.leave(f, job)
	case !errors.Is(err, fs.ErrNotExist):
		return Unfinished, &PersistError{err}
	}
	err = h.begin(resumed)
	if err == nil {
		err = h.tries(ctx, job)
	}
	return h.end(err, job)
}

// begin says that the harvest runs, after what an earlier run still had to say.
func (h *harvest) begin(resumed bool) error {
	if err := h.settleCommits(); err != nil {
		return err
	}
	if resumed {
		h.log.Info("harvest resumed", "harvest", h.start.ID, "warcs", len(h.result.Warcs))
		if !h.warned(sfm.HarvestResumed) {
			h.result.Warnings = append(h.result.Warnings, sfm.Note{Code: sfm.HarvestResumed, Message: "the harvest was interrupted and goes on"})
		}
	} else {
		h.log.Info("harvesting", "harvest", h.start.ID, "type", h.start.Type, "collection", h.start.Collection)
	}
	if err := h.tell(sfm.Running); err != nil {
		return err
	}
	if err := replaceJSON(filepath.Join(h.dir, resultName), h.result); err != nil {
		return &PersistError{err}
	}
	return h.settleFiles()
}

func (h *harvest) warned(code string) bool {
	for _, n := range h.result.Warnings {
		if n.Code == code {
			return true
		}
	}
	return false
}

// end is what is said of an error, or of none.
func (h *harvest) end(err error, job Job) (Outcome, error) {
	switch {
	case err == nil:
		return h.finish(Succeeded, job)
	case errors.Is(err, errPaused):
		h.log.Info("harvest paused", "harvest", h.start.ID, "warcs", len(h.result.Warcs))
		if err := h.tell(sfm.Paused); err != nil {
			return Unfinished, err
		}
		return Paused, nil
	case errors.As(err, new(*PersistError)):
		h.log.Error("harvest cannot be kept", "harvest", h.start.ID, "error", err)
		if broken := errors.Join(h.free(), h.settle()); broken != nil {
			return Unfinished, fmt.Errorf("%w; and then: %w", err, broken)
		}
	}
	h.log.Error("harvest failed", "harvest", h.start.ID, "error", err)
	h.result.Errors = append(h.result.Errors, noteOf(err))
	return h.finish(Failed, job)
}

var errPaused = errors.New("the harvest is paused")

// tries walks until it is done, was stopped, or was tried often enough.
func (h *harvest) tries(ctx context.Context, job Job) error {
	told, end := heed(ctx, job.Stop)
	stop := told.Done()
	h.stop = stop
	defer func() {
		if !isClosed(stop) {
			h.stop = nil
		}
		end()
	}()
	for try := 1; ; try++ {
		err := error(ErrStopped)
		if !isClosed(stop) {
			err = h.try(ctx, stop)
		}
		ended := errors.Is(err, ErrStopped) || isClosed(stop) && errors.Is(err, context.Canceled)
		switch {
		case ended && ctx.Err() != nil && !isClosed(job.Stop):
			return errPaused
		case err == nil, ended:
			return nil
		case errors.As(err, new(*PersistError)), errors.As(err, new(*Refusal)), try == h.o.Tries:
			return err
		}
		h.log.Warn("harvest failed, trying again", "harvest", h.start.ID, "try", try, "error", err)
		select {
		case <-time.After(h.o.TryPause):
		case <-stop:
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// heed is a context that ends at once with the one of the process, and with a stop message.
func heed(ctx context.Context, told <-chan struct{}) (heeding context.Context, end func()) {
	heeding, cancel := context.WithCancel(ctx)
	if isClosed(told) {
		cancel()
	}
	var ended sync.WaitGroup
	ended.Go(func() {
		select {
		case <-heeding.Done():
		case <-told:
			cancel()
		}
	})
	return heeding, func() {
		cancel()
		ended.Wait()
	}
}

// try walks once. Everything that was recorded is committed when it returns without a PersistError.
func (h *harvest) try(ctx context.Context, stop <-chan struct{}) error {
	memory, err := recall(h.collection, h.kind.Module)
	if err != nil {
		return Refuse(sfm.UnknownError, "%s", err)
	}
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	go patience(life, stop, cancel)
	work := newCommitter(cancel)
	w := h.walk(memory, stop, func(c closed) { work.do(func() error { return h.commit(c) }) })
	w.waits = func(n sfm.Note) { work.do(func() error { return h.tellWait(n) }) }
	quiet := h.regularly(work)
	err = h.safely(life, w)
	quiet()
	if err == nil {
		err = w.rec.failure()
	}
	w.client.close()
	kept := w.rec.end()
	if broken := work.wait(); broken != nil {
		return broken
	}
	if kept != nil && !errors.As(err, new(*PersistError)) {
		err = kept
	}
	return w.clean(err)
}

// safely walks. A walk that panics has failed, and the harvests beside it go on.
func (h *harvest) safely(ctx context.Context, w *Walk) (err error) {
	defer func() {
		if why := recover(); why != nil {
			h.log.Error("harvest panicked", "harvest", h.start.ID, "panic", why, "stack", string(debug.Stack()))
			err = fmt.Errorf("the walk of %s panicked: %v", h.kind.Name, why)
		}
	}()
	return h.kind.Walk(ctx, w)
}

// patience ends a walk that does not end when it is told to.
func patience(life context.Context, stop <-chan struct{}, cancel func()) {
	select {
	case <-life.Done():
		return
	case <-stop:
	}
	grace := time.NewTimer(pauseGrace)
	defer grace.Stop()
	select {
	case <-life.Done():
	case <-grace.C:
		cancel()
	}
}

// walk is what the type gets.
func (h *harvest) walk(m *memory, stop <-chan struct{}, done func(closed)) *Walk {
	scrub := newScrubber(h.kind, h.start, h.o.Exact)
	w := &Walk{start: h.start, kind: h.kind, log: h.log, now: h.o.Now, memory: m, again: h.o.Patience, stop: stop,
		client: &client{scrub: scrub}, base: h.base()}
	w.rec = h.recorder(w.base, scrub, done)
	return w
}

// base is what the addresses of the API begin with.
func (h *harvest) base() string {
	return strings.TrimSuffix(cmp.Or(word(h.start.Options["api_base"]), h.o.Bases[h.kind.Name], h.kind.APIBase), "/")
}

// recorder is one that writes into the directory of the harvest.
func (h *harvest) recorder(base string, scrub *scrubber, done func(closed)) *recorder {
	return &recorder{dir: h.dir, prefix: sfm.SafeName(h.start.ID), roll: h.o.Roll, size: h.o.Size, now: h.o.Now, closed: done, at: h.o.At,
		about: func() warc.Fields { return h.about(base, scrub) }}
}

// about is what a warcinfo record says of the harvest.
func (h *harvest) about(base string, scrub *scrubber) (f warc.Fields) {
	f.Add("software", h.o.Software)
	f.Add("hostname", h.o.Host)
	f.Add("format", "WARC File Format 1.0")
	f.Add("sfm-type", h.start.Type)
	f.Add("sfm-api-base", scrub.uri(base))
	f.Add("sfm-harvest", warcText(h.start.ID))
	f.Add("scrubbed", scrub.said())
	return f
}

// warcText is an id as a line of a warcinfo record can have it.
func warcText(id string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return ' '
		}
		return c
	}, id)
}
