package harvest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/items"
)

// A harvest is one that is being done. What is below commits belongs to the goroutine of the
// committer while there is one.
type harvest struct {
	o          *Options
	start      *sfm.Start
	kind       *Type
	key        string // routing key of the request
	collection string // directory, here
	dir        string // of the harvest
	log        *slog.Logger
	stop       <-chan struct{} // closed when it was told to stop or to pause; nil while it does not walk

	result result
}

// A Job is a request for a harvest.
type Job struct {
	Body []byte // the harvest start message
	Key  string // its routing key; "" is made up
	// Stop ends the harvest for good; nil never does.
	Stop <-chan struct{}
	// Ended is called when the last status is out, before anything is forgotten; may be nil. With an
	// error the harvest stays unfinished.
	Ended func(Outcome) error
}

// A Harvester does harvests. Several goroutines may use one.
type Harvester struct{ o Options }

// New is a harvester.
func New(o Options) *Harvester { return &Harvester{o.defaults()} }

// Run does what a request asks for, or goes on with it, until it is done or ctx ends: then it pauses. The
// error says why it is Unfinished: ErrMalformed, ErrBusy, or what could not be written.
func (r *Harvester) Run(ctx context.Context, job Job) (Outcome, error) {
	s, err := sfm.ParseStart(job.Body)
	if s == nil || s.Type == "" && job.Key == "" { // who would hear it?
		return Unfinished, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	h := &harvest{o: &r.o, start: s, kind: r.o.kind(s.Type), key: job.Key, log: r.o.Log}
	h.result.Started = sfm.At(r.o.Now())
	if h.key == "" {
		h.key = keyOf(h.kind, s)
	}
	switch {
	case err != nil:
		err = Refuse(sfm.BadRequest, "%s", err)
	case h.kind == nil:
		err = Refuse(sfm.BadRequest, "there is no harvester for %q here", s.Type)
	default:
		err = h.kind.check(s)
	}
	if err == nil {
		err = r.o.place(s.Path)
	}
	if err != nil {
		return h.refuse(err, job)
	}
	return h.run(ctx, job)
}

// keyOf is the routing key of a request that came without one.
func keyOf(t *Type, s *sfm.Start) string {
	k := sfm.Key{Kind: "harvest", Verb: sfm.VerbStart, Type: s.Type}
	if t != nil {
		k.Platform = t.Platform
	}
	return k.String()
}

// refuse answers a request without having touched anything.
func (h *harvest) refuse(why error, job Job) (Outcome, error) {
	h.log.Error("harvest refused", "harvest", h.start.ID, "error", why)
	h.result.Errors = append(h.result.Errors, noteOf(why))
	m, err := h.status(&h.result, sfm.Failure)
	if err == nil {
		err = put(h.o.Out, m)
	}
	if err == nil && job.Ended != nil {
		err = job.Ended(Failed)
	}
	if err != nil {
		return Unfinished, err
	}
	return Failed, nil
}

// noteOf is what a requester is told of an error.
func noteOf(err error) sfm.Note {
	var refusal *Refusal
	switch {
	case errors.As(err, &refusal):
		return refusal.Note
	case errors.As(err, new(*PersistError)):
		return sfm.Note{Code: sfm.PersistError, Message: err.Error()}
	}
	return sfm.Note{Code: sfm.UnknownError, Message: err.Error()}
}

// today is the day that is counted under: that of the clock on the wall.
func (h *harvest) today() string { return h.o.Now().Local().Format(time.DateOnly) }

// label is what is counted.
func (h *harvest) label() string {
	r, _ := items.For(h.kind.Name)
	return r.Label
}

// phase is the status of a harvest that goes on.
func (h *harvest) phase() string {
	if h.stop != nil && isClosed(h.stop) {
		return sfm.Stopping
	}
	return sfm.Running
}

// A final is the last status, on its way out.
type final struct {
	Outcome Outcome `json:"outcome"`
	Message message `json:"message"`
}

// finish says how it has ended, and forgets the harvest.
func (h *harvest) finish(outcome Outcome, job Job) (Outcome, error) {
	if err := h.settleFiles(); err != nil { // nothing that was recorded is forgotten
		return Unfinished, err
	}
	m, err := h.status(&h.result, outcome.status())
	if err != nil {
		return Unfinished, err
	}
	f := final{outcome, m}
	h.o.At("final")
	path := filepath.Join(h.dir, finalName)
	if replaceJSON(path, f) != nil { // once more, with the room that was kept
		if err := errors.Join(h.free(), replaceJSON(path, f)); err != nil {
			return Unfinished, &PersistError{err}
		}
	}
	return h.leave(f, job)
}

// leave is the end, as often as it takes.
func (h *harvest) leave(f final, job Job) (Outcome, error) {
	h.o.At("ended")
	if err := put(h.o.Out, f.Message); err != nil {
		return Unfinished, err
	}
	h.o.At("told")
	if job.Ended != nil {
		if err := job.Ended(f.Outcome); err != nil {
			return Unfinished, err
		}
	}
	h.o.At("remove")
	h.log.Info("harvest ended", "harvest", h.start.ID, "status", f.Outcome.status(), "warcs", len(h.result.Warcs), "bytes", h.result.Bytes)
	if err := discard(h.dir); err != nil {
		return Unfinished, &PersistError{err}
	}
	return f.Outcome, nil
}

// tell says how it goes on.
func (h *harvest) tell(word string) error {
	m, err := h.status(&h.result, h.word(word))
	if err != nil {
		return err
	}
	return put(h.o.Out, m)
}
