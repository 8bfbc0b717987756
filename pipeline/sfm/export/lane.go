package export

import (
	"context"
	"errors"
	"io"
	"io/fs"

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
	passed   map[string]int64 // items of other platforms, by kind
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
		l.warnings.add(sfm.WarcUnreadable, "%s:%d: %s", l.path, d.Offset, d.String())
	}
	var last ending
	in := warc.NewReader(f, warc.ReadOptions{Report: func(x *warc.Fault) {
		if x.Damage() && !last.takes(x) {
			l.warnings.add(sfm.WarcUnreadable, "%s:%d: %s", l.path, x.Offset, x.String())
		}
	}})
	h := &hand{ctx: ctx, lane: l, order: o, render: render}
	reader.Others = h.other
	for err == nil && ctx.Err() == nil {
		var rec *warc.Record
		if rec, err = in.Next(); err == nil {
			last.next()
			err = reader.Items(rec, h.take)
		}
	}
	if err == io.EOF {
		err = errors.Join(h.pass(), last.wrong(f))
	}
	if err != nil && ctx.Err() == nil {
		l.broken = cause(err)
	}
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
	if !h.order.mine(&i) {
		return h.other(i)
	}
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

// other counts an item of another platform.
func (h *hand) other(i items.Item) error {
	if !exportable(i.Kind) { // it goes with others
		return nil
	}
	if h.lane.passed == nil {
		h.lane.passed = map[string]int64{}
	}
	h.lane.passed[i.Kind]++
	return nil
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
