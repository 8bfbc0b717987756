package export

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
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

// Options are how exports are made.
type Options struct {
	API      *API
	Out      Outbox
	Prefixes sfm.Prefixes // where the paths of messages and of the API are here
	// Records is a directory for how exports have ended; "" keeps nothing, and one that was killed
	// is made anew.
	Records string
	Plain   bool // texts that look like formulas are left as they are in csv and tsv

	Host, Instance string // who does it
	Log            *slog.Logger
	Now            func() time.Time
	// At is called before each step of what must survive a kill, with its name; nil is nothing. Tests
	// kill there.
	At func(step string)
}

// An Outcome is how an export has ended.
type Outcome int

// The outcomes.
const (
	Unfinished Outcome = iota // nothing could be said; it is to be tried again
	Succeeded
	Failed
	Stopped // it was interrupted, and is made anew when it is asked for again
)

// status is the word for it.
func (o Outcome) status() string {
	if o == Succeeded {
		return sfm.Success
	}
	return sfm.Failure
}

// A Job is a request for an export.
type Job struct {
	Body []byte // the export start message
	Key  string // its routing key; "" is made up
}

// An Exporter answers requests for exports. Several goroutines may use one.
type Exporter struct{ o Options }

// New is an exporter.
func New(o Options) *Exporter {
	if o.At == nil {
		o.At = func(string) {}
	}
	return &Exporter{o}
}

// An export is one that is being made.
type export struct {
	o      *Options
	start  *sfm.ExportStart
	body   []byte
	key    string // routing key of the request
	status sfm.ExportStatus
	making *making // nil until there are files
}

// Run does what a request asks for. The error says why it is Unfinished: ErrMalformed, ErrBusy, or what
// could not be written.
func (x *Exporter) Run(ctx context.Context, job Job) (Outcome, error) {
	s, wrong := sfm.ParseExportStart(job.Body)
	if s == nil || s.ID == "" { // nobody would know whose status it is
		return Unfinished, fmt.Errorf("%w: %w", ErrMalformed, wrong)
	}
	e := &export{o: &x.o, start: s, body: job.Body, key: job.Key}
	r, err := recall(x.o.Records, s.ID, job.Body)
	if err != nil {
		return Unfinished, err
	}
	if r != nil {
		return e.redo(r)
	}
	if err := e.begin(); err != nil {
		return Unfinished, err
	}
	if wrong != nil {
		return e.finish(refuse("%s", wrong))
	}
	dir, err := e.o.Prefixes.Resolve(s.Path)
	if err != nil {
		return e.finish(refuse("%s", err))
	}
	err = e.make(ctx, dir)
	switch {
	case ctx.Err() != nil && err != nil:
		return Stopped, nil
	case errors.Is(err, ErrBusy):
		return Unfinished, err
	}
	return e.finish(err)
}

// begin says that it is being done.
func (e *export) begin() error {
	e.status = sfm.ExportStatus{ID: e.start.ID, Status: sfm.Running, Started: sfm.At(e.o.Now()), Service: "Exporter", Host: e.o.Host, Instance: e.o.Instance}
	key := sfm.Key{Kind: "export", Verb: sfm.VerbStart, Type: e.start.Type}
	if t := tableFor(e.start.Type); t != nil {
		e.status.Service, key.Platform = t.service, t.platform
	}
	if e.key == "" {
		e.key = key.String()
	}
	e.o.Log.Info("exporting", "export", e.start.ID, "type", e.start.Type, "format", e.start.Format, "path", e.start.Path)
	body, err := json.Marshal(e.status)
	if err != nil {
		return err
	}
	return e.o.Out.Put(e.o.Out.Next(0), sfm.StatusKey(e.key), e.start.ID, nil, body)
}

// order is what the message asks for, in a directory of this host.
func (e *export) order(dir string) Order {
	s := e.start
	o := Order{ID: s.ID, Type: s.Type, Format: s.Format, Dir: dir, Segment: s.SegmentSize, Dedupe: s.Dedupe, Plain: e.o.Plain,
		Since: s.ItemDateStart.Time, Until: s.ItemDateEnd.Time, regular: true}
	for _, seed := range s.Seeds {
		if seed.UID == "" { // a query has none, and what it found is of anybody
			o.Owners = nil
			break
		}
		o.Owners = append(o.Owners, seed.UID)
	}
	return o
}

// make finds the files and fills the directory. What is missing goes into the status.
func (e *export) make(ctx context.Context, dir string) error {
	o := e.order(dir)
	m, err := begin(&o)
	if err != nil {
		return err
	}
	q := Query{Collection: e.start.Collection, HarvestStart: e.start.HarvestDateStart, HarvestEnd: e.start.HarvestDateEnd}
	for _, seed := range e.start.Seeds {
		q.Seeds = append(q.Seeds, seed.ID)
	}
	warcs, err := e.o.API.Warcs(ctx, q)
	if err == nil && len(warcs) == 0 {
		err = &Refusal{sfm.Note{Code: sfm.NoWarcs, Message: "there are no WARC files to export from"}}
	}
	if err != nil {
		return errors.Join(err, m.stage.discard())
	}
	left, err := m.fill(ctx, e.paths(warcs))
	if err != nil {
		return err
	}
	e.making = m
	e.status.Infos, e.status.Warnings, e.status.Errors = left.Infos, left.Warnings, left.Errors
	e.o.Log.Info("exported", "export", e.start.ID, "items", left.Items, "duplicates", left.Dropped, "files", left.Files, "warcs", left.Warcs)
	return nil
}

func (e *export) paths(warcs []Warc) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, w := range warcs {
			if !yield(e.o.Prefixes.Local(w.Path)) {
				return
			}
		}
	}
}

// finish notes how it has ended, and does what follows.
func (e *export) finish(why error) (Outcome, error) {
	if e.making != nil {
		defer e.making.stage.close()
	}
	if why != nil {
		e.status.Errors = append(e.status.Errors, noteOf(why))
	}
	e.log()
	r := &record{ID: e.start.ID, Request: digestOf(e.body), Outcome: Succeeded, Key: sfm.StatusKey(e.key), Number: e.o.Out.Next(0)}
	if len(e.status.Errors) > 0 {
		r.Outcome = Failed
	}
	if m := e.making; m != nil {
		r.Temp, r.Dir, r.Inode = m.stage.temp, m.stage.dir, m.inode
	}
	e.status.Status, e.status.Ended = r.Outcome.status(), sfm.At(e.o.Now())
	var err error
	if r.Status, err = json.Marshal(e.status); err != nil {
		return Unfinished, err
	}
	e.o.At("record")
	if e.o.Records != "" {
		if err := r.keep(e.o.Records); err != nil {
			return Unfinished, &PersistError{err}
		}
	}
	return e.redo(r)
}

// log says what the last status will: who runs a service need not see that.
func (e *export) log() {
	for _, n := range slices.Concat(e.status.Infos, e.status.Warnings) {
		e.o.Log.Warn("export warning", "export", e.start.ID, "code", n.Code, "message", n.Message)
	}
	for _, n := range e.status.Errors {
		e.o.Log.Error("export error", "export", e.start.ID, "code", n.Code, "message", n.Message)
	}
}

// redo does what follows from a record, as often as it takes.
func (e *export) redo(r *record) (Outcome, error) {
	e.o.At("install")
	if r.Temp != "" {
		if err := install(r.Temp, r.Dir, r.Inode); err != nil {
			return Unfinished, &PersistError{err}
		}
	}
	e.o.At("tell")
	if err := e.o.Out.Put(r.Number, r.Key, r.ID, nil, r.Status); err != nil {
		return Unfinished, &PersistError{err}
	}
	e.o.At("told")
	e.o.Log.Info("export ended", "export", r.ID, "status", r.Outcome.status())
	return r.Outcome, nil
}
