package command

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"srpump/pipeline/sfm/items"
	"srpump/pipeline/warc"
)

const (
	stdin     = "-"
	batchSize = 256 << 10 // bytes of text
	batchFew  = 1024      // items
	ahead     = 16        // batches a file may be ahead of the one that is printed
)

// A reading reads files, several at once, for a printer that takes them in their order.
type reading struct {
	*wanted
	in    io.Reader
	spare sync.Pool // of *batch
}

// fresh is an empty batch.
func (r *reading) fresh() *batch {
	if b, ok := r.spare.Get().(*batch); ok {
		return b
	}
	return &batch{text: make([]byte, 0, 2*batchSize)}
}

// done takes back a batch that nobody looks at any more.
func (r *reading) done(b *batch) {
	*b = batch{text: b.text[:0], items: b.items[:0]}
	if cap(b.text) <= 8*batchSize {
		r.spare.Put(b)
	}
}

// A file is one that is read.
type file struct {
	name    string
	batches chan *batch
}

// A batch is some of what is in a file, as it is to be printed, or what is wrong with it.
type batch struct {
	text  []byte
	items []entry
	wrong error
	// missing is a file that cannot be opened, which is what is wrong.
	missing bool
	fatal   error // of reading, which ends all
}

// An entry is one item of a batch.
type entry struct {
	end  int // of its text
	key  items.Key
	day  string
	kind string
}

// start reads the files of those names, else of those on the input, and gives them out in their
// order; each tells its batches. It ends with the context.
func (r *reading) start(ctx context.Context, names []string) <-chan *file {
	n := runtime.GOMAXPROCS(0)
	todo, files := make(chan *file), make(chan *file, n)
	for range n {
		go func() {
			for f := range todo {
				r.read(ctx, f)
			}
		}()
	}
	go func() {
		defer close(files)
		defer close(todo)
		err := r.each(names, func(name string) bool {
			f := &file{name, make(chan *batch, ahead)}
			return send(ctx, files, f) && send(ctx, todo, f)
		})
		if err != nil {
			f := &file{stdin, make(chan *batch, 1)}
			f.batches <- &batch{fatal: fmt.Errorf("cannot read the names of files: %w", err)}
			close(f.batches)
			send(ctx, files, f)
		}
	}()
	return files
}

func send[T any](ctx context.Context, to chan<- T, v T) bool {
	select {
	case to <- v:
		return true
	case <-ctx.Done():
		return false
	}
}

// longestName is that of a name on the input, in bytes.
const longestName = 64 << 10

// each gives every name to next, as long as that wants more.
func (r *reading) each(names []string, next func(string) bool) error {
	for _, name := range names {
		if !next(name) {
			return nil
		}
	}
	if len(names) > 0 {
		return nil
	}
	scan := bufio.NewScanner(r.in)
	scan.Buffer(nil, longestName)
	if r.nul {
		scan.Split(splitNUL)
	}
	for scan.Scan() {
		name := scan.Text()
		if name == stdin { // which the names are on
			name = "./" + stdin
		}
		if name != "" && !next(name) {
			return nil
		}
	}
	return scan.Err()
}

func splitNUL(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

// read reads one file into its batches.
func (r *reading) read(ctx context.Context, f *file) {
	defer close(f.batches)
	a := &assembly{reading: r, ctx: ctx, file: f, batch: r.fresh()}
	in := r.in
	if f.name != stdin {
		opened, err := os.Open(f.name)
		if err != nil {
			a.batch.missing = true
			a.wrong(fmt.Errorf("cannot read %q: %w", f.name, cause(err)))
			return
		}
		defer opened.Close()
		in = opened
	}
	if err := a.records(in); err != nil && ctx.Err() == nil {
		a.wrong(fmt.Errorf("cannot read %q: %w", f.name, cause(err)))
	}
	a.flush()
}

// An assembly puts the items of a file into batches.
type assembly struct {
	*reading
	ctx   context.Context
	file  *file
	batch *batch
}

// errNoRecord is a file without any, such as an empty one.
var errNoRecord = errors.New("there is no record in it")

func (a *assembly) records(in io.Reader) error {
	reader := a.reader()
	reader.Borrow = true
	reader.Report = func(d items.Damage) {
		a.wrong(fmt.Errorf("%s:%d: %s", a.file.name, d.Offset, d))
	}
	empty := true // neither a record nor anything else
	warcs := warc.NewReader(in, warc.ReadOptions{Unverified: true, Report: func(f *warc.Fault) {
		if empty = empty && !f.Damage(); f.Damage() {
			a.wrong(fmt.Errorf("%s:%d: %s", a.file.name, f.Offset, f.String()))
		}
	}})
	for a.ctx.Err() == nil {
		rec, err := warcs.Next()
		if err == io.EOF && empty {
			return errNoRecord
		}
		if err == io.EOF {
			return nil
		}
		if err == nil {
			empty = false
			err = reader.Items(rec, a.take)
		}
		if err != nil {
			return err
		}
	}
	return a.ctx.Err()
}

// take puts an item into the batch, if it is wanted.
func (a *assembly) take(i items.Item) error {
	if !a.takes(i) {
		return nil
	}
	b := a.batch
	var e entry
	switch {
	case a.counts:
		if e.kind = i.Kind; !i.Date.IsZero() {
			e.day = i.Date.Format(time.DateOnly)
		}
	case a.urls:
		for _, address := range i.URLs(items.URLOptions{}) {
			b.text = append(append(b.text, address...), '\n')
		}
	default:
		b.text = append(appendLine(b.text, i.Raw), '\n')
	}
	if e.end = len(b.text); a.once {
		e.key = i.Key()
	}
	if a.counts || a.once {
		b.items = append(b.items, e)
	}
	if len(b.text) >= batchSize || len(b.items) >= batchFew {
		return a.flush()
	}
	return nil
}

// appendLine appends JSON without line ends.
func appendLine(to []byte, raw json.RawMessage) []byte {
	if bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') < 0 {
		return append(to, raw...)
	}
	b := bytes.NewBuffer(to)
	_ = json.Compact(b, raw) // it was checked
	return b.Bytes()
}

// flush gives the batch to the printer.
func (a *assembly) flush() error {
	b := a.batch
	a.batch = a.fresh()
	if !send(a.ctx, a.file.batches, b) {
		return a.ctx.Err()
	}
	return nil
}

// wrong tells what is wrong behind the items that were read before.
func (a *assembly) wrong(err error) {
	a.batch.wrong = err
	_ = a.flush() // the context has ended, and with it the reading
}
