package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/items"
	"srpump/pipeline/warc"
)

// A NothingError is that no item was found, and why for each file, but for those behind many.
type NothingError struct {
	Files int // that were looked into
	Notes []sfm.Note
}

func (e *NothingError) Error() string {
	if e.Files == 0 {
		return noFiles
	}
	return "there is no item in the files that were named"
}

// noFiles is what is wrong where nothing is named, as when find finds nothing.
const noFiles = "no WARC file was named"

// Sniff finds the columns of an order without a type: those of the first item in the files. Items of
// other platforms are left out then. The error is a *NothingError, or that of ctx.
func (o *Order) Sniff(ctx context.Context, paths iter.Seq[string]) error {
	var why notes
	files := 0
	for path := range paths {
		t, err := o.sniff(ctx, path)
		switch {
		case t != nil:
			o.look.table = t
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		}
		files++
		why.add(codeOf(err), "cannot export %q: %s", path, cause(err))
	}
	return &NothingError{files, why.list()}
}

// codeOf tells a file that is not there from one that is of no use.
func codeOf(err error) string {
	if errors.As(err, new(*unopened)) {
		return sfm.WarcMissing
	}
	return sfm.WarcUnreadable
}

// An unopened file cannot be opened.
type unopened struct{ error }

// Unwrap is the cause.
func (u *unopened) Unwrap() error { return u.error }

// errNoItem is a sound file of something else.
var errNoItem = errors.New("there is no item of a known platform in it")

// errFound ends the reading of a file.
var errFound = fmt.Errorf("found")

// sniff is the table of the first item in a file; when there is none the error says why.
func (o *Order) sniff(ctx context.Context, path string) (found *table, err error) {
	f, err := o.open(path)
	if err != nil {
		return nil, &unopened{err}
	}
	defer f.Close()
	var last ending
	in, reader := warc.NewReader(f, warc.ReadOptions{Unverified: true, Report: func(x *warc.Fault) { last.takes(x) }}), items.Any()
	for err == nil && ctx.Err() == nil {
		var rec *warc.Record
		if rec, err = in.Next(); err != nil {
			break
		}
		last.next()
		err = reader.Items(rec, func(i items.Item) error {
			if found = tableOf(&i); found != nil {
				return errFound
			}
			return nil
		})
	}
	if err == io.EOF {
		if err = last.wrong(f); err == nil {
			err = errNoItem
		}
	}
	return found, err
}
