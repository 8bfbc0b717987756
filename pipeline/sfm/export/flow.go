package export

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"sync"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/items"
)

// Left is what became of an export besides its files.
type Left struct {
	Items    int64      // that were written
	Dropped  int64      // duplicates
	Files    int        // segments
	Warcs    int        // that were read
	Infos    []sfm.Note // what was passed over
	Warnings []sfm.Note
	Errors   []sfm.Note // what is missing in the export
}

// A flow is one export: lanes that are read at once, their items put behind each other.
type flow struct {
	order    *Order
	out      *segments
	seen     items.Seen
	left     Left
	warnings notes
	errors   notes
	passed   map[string]int64 // items of other platforms, by kind
}

// run reads the files and writes the segments.
func (f *flow) run(ctx context.Context, paths iter.Seq[string]) error {
	inner, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	lanes, room := f.start(inner, &work, paths)
	for l := range lanes {
		if err := f.drain(inner, l); err != nil {
			return err
		}
		<-room
	}
	// Paths may have ended because ctx did, of which inner need not know yet.
	if err := ctx.Err(); err != nil {
		return err
	}
	return f.out.finish()
}

// start opens lanes, as many at once as there is room. Rows are made by as many goroutines as there are
// processors.
func (f *flow) start(ctx context.Context, work *sync.WaitGroup, paths iter.Seq[string]) (<-chan *lane, <-chan struct{}) {
	at := max(2, runtime.GOMAXPROCS(0))
	lanes, room, busy := make(chan *lane, at), make(chan struct{}, at), make(chan struct{}, at)
	render := func(b *batch) {
		busy <- struct{}{}
		work.Go(func() {
			b.make(f.order)
			<-busy
		})
	}
	work.Go(func() {
		defer close(lanes)
		for path := range paths {
			select {
			case room <- struct{}{}:
			case <-ctx.Done():
				return
			}
			l := &lane{path: path, batches: make(chan *batch, ahead)}
			lanes <- l
			work.Go(func() { l.read(ctx, f.order, render) })
		}
	})
	return lanes, room
}

// make makes the rows, and forgets the items.
func (b *batch) make(o *Order) {
	defer close(b.ready)
	b.rows = o.look.rows()
	for n := range b.items {
		i := &b.items[n]
		if err := b.rows.add(i); err != nil {
			b.notes.add(sfm.WarcUnreadable, "%s", err)
			continue
		}
		if o.Dedupe {
			b.keys = append(b.keys, i.Key())
		}
	}
	b.items = nil
}

// drain writes what comes out of a lane.
func (f *flow) drain(ctx context.Context, l *lane) error {
	for b := range l.batches {
		select {
		case <-b.ready:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := f.write(b); err != nil {
			return err
		}
	}
	f.left.Warcs++
	f.warnings.merge(&l.warnings)
	for kind, n := range l.passed {
		if f.passed == nil {
			f.passed = map[string]int64{}
		}
		f.passed[kind] += n
	}
	switch {
	case l.missing != nil:
		f.errors.add(sfm.WarcMissing, "cannot read %q: %s", l.path, l.missing)
	case l.broken != nil:
		f.errors.add(sfm.WarcUnreadable, "cannot read %q to its end: %s", l.path, l.broken)
	}
	return nil
}

func (f *flow) write(b *batch) error {
	f.warnings.merge(&b.notes)
	for n := range b.rows.ends {
		if f.order.Dedupe && !f.seen.Fresh(b.keys[n]) {
			f.left.Dropped++
			continue
		}
		if err := f.out.add(b.rows, n); err != nil {
			return fmt.Errorf("cannot write the export: %w", err)
		}
	}
	return nil
}

// result is what is left to be said.
func (f *flow) result() Left {
	if f.out.cut > 0 {
		f.warnings.add(cellCut, "%d texts are longer than a cell of a workbook can be, and cut off", f.out.cut)
	}
	if len(f.passed) > 0 {
		f.left.Infos = append(f.left.Infos, passedOver(f.passed))
	}
	f.left.Items, f.left.Files = f.out.total, f.out.number
	f.left.Warnings, f.left.Errors = f.warnings.list(), f.errors.list()
	return f.left
}

// cellCut is the code of the warning of texts that a workbook has not room for.
const cellCut = "cell_truncated"
