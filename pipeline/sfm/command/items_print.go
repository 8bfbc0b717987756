package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/items"
)

// A printer prints what is read.
type printer struct {
	*wanted
	out     io.Writer
	warn    func(error)
	seen    items.Seen
	days    sfm.Stats // nil unless items are counted
	damaged bool      // not only files are missing
	wrong   int
	keep    []byte
}

// all prints what is wanted of all files.
func (p *printer) all(ctx context.Context, r *reading, names []string) error {
	for f := range r.start(ctx, names) {
		if err := p.file(ctx, r, f); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	err := p.counted()
	if err != nil {
		return err
	}
	switch p.wrong {
	case 0:
		return nil
	case 1:
		err = errors.New("1 thing could not be read")
	default:
		err = fmt.Errorf("%d things could not be read", p.wrong)
	}
	if !p.damaged {
		return hinted{err, "look at the names of the files; all else was printed"}
	}
	return hinted{err, "all else was printed; warc check says more of damaged files"}
}

func (p *printer) file(ctx context.Context, r *reading, f *file) error {
	for {
		select {
		case b, ok := <-f.batches:
			if !ok {
				return nil
			}
			if err := p.batch(b); err != nil {
				return err
			}
			r.done(b)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// batch prints one, and what was wrong behind it.
func (p *printer) batch(b *batch) error {
	text := b.text
	if p.once {
		text = p.fresh(b)
	}
	if p.counts {
		for _, e := range b.items {
			p.days.Add(e.day, e.kind, 1)
		}
	}
	if len(text) > 0 {
		if _, err := p.out.Write(text); err != nil {
			return fmt.Errorf("cannot print: %w", err)
		}
	}
	if b.wrong != nil {
		p.wrong++
		p.damaged = p.damaged || !b.missing
		p.warn(b.wrong)
	}
	return b.fatal
}

// fresh keeps of a batch what is met for the first time.
func (p *printer) fresh(b *batch) []byte {
	p.keep = p.keep[:0]
	kept, from := b.items[:0], 0
	for _, e := range b.items {
		if p.seen.Fresh(e.key) {
			p.keep = append(p.keep, b.text[from:e.end]...)
			kept = append(kept, e)
		}
		from = e.end
	}
	b.items = kept
	return p.keep
}

// counted prints the counts, a line for each day and kind; items without a date come first.
func (p *printer) counted() error {
	var b strings.Builder
	for _, day := range slices.Sorted(maps.Keys(p.days)) {
		name := day
		if day == "" {
			name = "-"
		}
		for _, kind := range slices.Sorted(maps.Keys(p.days[day])) {
			fmt.Fprintf(&b, "%s %s %d\n", name, kind, p.days[day][kind])
		}
	}
	_, err := io.WriteString(p.out, b.String())
	return err
}
