package export

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/items"
	"srpump/pipeline/warc"
)

// The bounds of what is in memory: of each lane a few batches of some hundred KiB.
const (
	batchItems = 1000
	batchBytes = 256 << 10
	ahead      = 4 // batches of a lane that may wait
)

// A batch is a run of items of one file, and their rows once it is ready.
type batch struct {
	items []items.Item
	bytes int
	rows  *rows
	keys  []items.Key // of the rows, where duplicates are dropped
	notes notes
	ready chan struct{}
}

// A lane is a file that is being read.
type lane struct {
	path    string
	batches chan *batch
	// What is below is to be read when batches is closed.
	missing  error // it cannot be opened
	broken   error // it cannot be read on
	warnings notes
}

// read reads the file, and hands its batches out until ctx ends.
func (l *lane) read(ctx context.Context, o *Order, render func(*batch)) {
	defer close(l.batches)
	f, err := o.open(l.path)
	if err != nil {
		l.missing = cause(err)
		return
	}
	defer f.Close()
	reader := o.reader()
	reader.Report = func(d items.Damage) {
		l.warnings.add(sfm.WarcUnreadable, "%s:%d: %s, line %d: %s", l.path, d.Offset, d.URI, d.Line, d.Reason)
	}
	in := warc.NewReader(f, warc.ReadOptions{Report: func(x *warc.Fault) {
		if x.Damage() {
			l.warnings.add(sfm.WarcUnreadable, "%s:%d: %s", l.path, x.Offset, x.String())
		}
	}})
	h := &hand{ctx: ctx, lane: l, order: o, render: render}
	for err == nil && ctx.Err() == nil {
		var rec *warc.Record
		if rec, err = in.Next(); err == nil {
			err = reader.Items(rec, h.take)
		}
	}
	if err == io.EOF {
		err = h.pass()
	}
	if err != nil && ctx.Err() == nil {
		l.broken = cause(err)
	}
}

// open opens a WARC file.
func (o *Order) open(path string) (*os.File, error) {
	if o.regular {
		if info, err := os.Stat(path); err != nil {
			return nil, err
		} else if !info.Mode().IsRegular() {
			return nil, errors.New("it is no regular file")
		}
	}
	return os.Open(path)
}

// A hand fills batches.
type hand struct {
	ctx    context.Context
	lane   *lane
	order  *Order
	render func(*batch)
	batch  *batch
}

// take puts an item into a batch, if it is asked for.
func (h *hand) take(i items.Item) error {
	if !h.order.wants(&i) {
		return nil
	}
	if h.batch == nil {
		h.batch = &batch{ready: make(chan struct{})}
	}
	h.batch.items = append(h.batch.items, i)
	h.batch.bytes += len(i.Raw)
	if len(h.batch.items) < batchItems && h.batch.bytes < batchBytes {
		return nil
	}
	return h.pass()
}

// pass hands the batch over; its rows are made meanwhile.
func (h *hand) pass() error {
	b := h.batch
	h.batch = nil
	if b == nil {
		return nil
	}
	select {
	case h.lane.batches <- b:
		h.render(b)
		return nil
	case <-h.ctx.Done():
		return h.ctx.Err()
	}
}

// cause leaves out the path a message names anyway.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
