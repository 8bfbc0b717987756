package pump

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"sync"

	"srpump/pump/broker"
)

// A restorer is a consumer that first delivers what the option save has kept, and then what its
// broker does (sr_options(5), restore). What it delivers is ended by acknowledging it, as it is for a
// broker: a file is removed when all it held is acknowledged, and comes again as a whole after a kill.
type restorer struct {
	f    *Flow
	next broker.Consumer // nil when nothing else is to be done

	files []*savedFile // not read to their end

	mu   sync.Mutex
	last uint64
	open map[uint64]*savedFile // by number of delivery
}

// savedEpoch marks the tags of what comes from a save file; no connection counts so far.
const savedEpoch = math.MaxUint32

// restored reports whether a delivery comes from a save file.
func restored(d *broker.Delivery) bool { return d.Tag.Epoch == savedEpoch }

// openRestorer puts what was saved in front of what is consumed, where that is asked for.
func (f *Flow) openRestorer() error {
	if !f.plan.restoring {
		return nil
	}
	paths, err := saveFiles(f.cfg, f.host)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r := &restorer{f: f, next: f.consumer, open: make(map[uint64]*savedFile)}
	f.consumer = r
	for _, path := range paths {
		s, err := openSaved(path)
		if err != nil {
			return err
		}
		r.files = append(r.files, s)
		f.host.Log.Info("restoring", "file", path)
	}
	if len(paths) == 0 {
		f.host.Log.Info("nothing to restore", "file", saveFile(f.cfg, f.host, 0))
	}
	return nil
}

// Next is called by one goroutine.
func (r *restorer) Next(ctx context.Context) (*broker.Delivery, error) {
	for len(r.files) > 0 && ctx.Err() == nil {
		d, err := r.files[0].next()
		var bad *badLine
		switch {
		case err == nil:
			r.hand(d, r.files[0])
			return d, nil
		case errors.As(err, &bad):
			if err := r.setAside(bad); err != nil {
				return nil, err
			}
		case errors.Is(err, io.EOF):
			r.ended(r.files[0])
			r.files = r.files[1:]
		default:
			return nil, err
		}
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case r.next == nil:
		return nil, io.EOF
	}
	return r.next.Next(ctx)
}

func (r *restorer) hand(d *broker.Delivery, s *savedFile) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	d.Tag = broker.Tag{Epoch: savedEpoch, N: r.last}
	r.open[r.last] = s
	s.open++
	s.count++
}

// setAside keeps a line that holds no announcement before its file may go.
func (r *restorer) setAside(bad *badLine) error {
	r.f.Counters.Malformed.Add(1)
	r.f.host.Log.Warn("damaged line", "file", bad.at, "error", bad.err, "kept", r.f.DeadLetters())
	return r.f.retries.DeadLetter().Write("", nil, bad.text, bad.Error(), r.f.host.Now())
}

// ended notes that a file was read to its end.
func (r *restorer) ended(s *savedFile) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.read = true
	r.removeDone(s)
}

// removeDone removes a file of which everything is done.
func (r *restorer) removeDone(s *savedFile) {
	if !s.read || s.open > 0 {
		return
	}
	if err := errors.Join(s.remove(), s.file.Close()); err != nil {
		r.f.host.Log.Error("save file not removed, it comes again", "file", s.path, "error", err)
		return
	}
	r.f.host.Log.Info("restored", "file", s.path, "count", s.count)
}

// Ack implements broker.Consumer.
func (r *restorer) Ack(tags ...broker.Tag) error {
	rest := r.settle(tags)
	if r.next == nil || len(rest) == 0 {
		return nil
	}
	return r.next.Ack(rest...)
}

// settle ends what came from a file, and returns the tags of the others.
func (r *restorer) settle(tags []broker.Tag) (rest []broker.Tag) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range tags {
		if t.Epoch != savedEpoch {
			rest = append(rest, t)
			continue
		}
		if s := r.open[t.N]; s != nil {
			delete(r.open, t.N)
			s.open--
			r.removeDone(s)
		}
	}
	return rest
}

// Reject implements broker.Consumer. What came from a file is given back by leaving it there.
func (r *restorer) Reject(requeue bool, tags ...broker.Tag) error {
	var rest []broker.Tag
	for _, t := range tags {
		if t.Epoch != savedEpoch {
			rest = append(rest, t)
		}
	}
	if r.next == nil || len(rest) == 0 {
		return nil
	}
	return r.next.Reject(requeue, rest...)
}

// Close implements broker.Consumer.
func (r *restorer) Close() error {
	var errs []error
	for _, s := range r.unfinished() {
		errs = append(errs, s.file.Close())
	}
	if r.next != nil {
		errs = append(errs, r.next.Close())
	}
	return errors.Join(errs...)
}

// unfinished are the files that come again.
func (r *restorer) unfinished() map[string]*savedFile {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make(map[string]*savedFile)
	for _, s := range r.files {
		out[s.path] = s
	}
	for _, s := range r.open {
		out[s.path] = s
	}
	return out
}
