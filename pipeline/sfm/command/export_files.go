package command

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"path/filepath"
	"slices"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/export"
)

// files exports the files of those names, else of those on the input.
func (x *exporting) files(ctx context.Context, names []string, in io.Reader) (err error) {
	o := x.order
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return err
	}
	o.ID = filepath.Base(o.Dir)
	list := x.names(ctx, names, in)
	if o.Type == "" && export.HasColumns(o.Format) {
		list.keep = true
		if err := o.Sniff(ctx, list.all()); err != nil {
			return x.ended(ctx, x.nothing(err, list.err))
		}
		list.keep = false
	}
	left, err := export.Make(ctx, o, list.all())
	if err == nil && ctx.Err() == nil {
		err = list.err
	}
	if err != nil {
		return x.ended(ctx, err)
	}
	for _, n := range slices.Concat(left.Infos, left.Warnings) {
		x.log.Warn("export warning", "export", o.ID, "code", n.Code, "message", n.Message)
	}
	x.failures(left.Errors)
	x.log.Info("exported", "export", o.ID, "items", left.Items, "duplicates", left.Dropped, "files", left.Files, "warcs", left.Warcs)
	if len(left.Errors) > 0 {
		return hinted{errors.New("some files could not be exported"), "all else was"}
	}
	return nil
}

// failures logs what is missing.
func (x *exporting) failures(all []sfm.Note) {
	for _, n := range all {
		x.log.Error("export error", "export", filepath.Base(x.order.Dir), "code", n.Code, "message", n.Message)
	}
}

// nothing is the error where no file says what is to be exported, or the names cannot be read.
func (x *exporting) nothing(err, names error) error {
	var none *export.NothingError
	if !errors.As(err, &none) || names != nil {
		return fmt.Errorf("cannot export into %q: %w", x.order.Dir, cmp.Or(names, err))
	}
	x.failures(none.Notes)
	hint := "look at what is wrong with the files, or say with -t what they are of, to have an export without items"
	if none.Files == 0 {
		hint = "name files behind the options, or on standard input, one on each line"
	}
	return hinted{fmt.Errorf("cannot export into %q: %w", x.order.Dir, err), hint}
}

// ended is an error, or that it was interrupted.
func (x *exporting) ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return interrupted{fmt.Sprintf("the export into %q", x.order.Dir)}
	}
	return err
}

// A nameList is names as they come.
type nameList struct {
	known []string
	rest  chan string
	keep  bool // of those that come, too: they will be asked for again
	err   error
	ctx   context.Context
}

// names are the arguments, else what is read from the input until ctx ends.
func (x *exporting) names(ctx context.Context, args []string, in io.Reader) *nameList {
	l := &nameList{known: args, rest: make(chan string), ctx: ctx}
	if len(args) > 0 {
		close(l.rest)
		return l
	}
	go func() {
		defer close(l.rest)
		r := &reading{wanted: &wanted{nul: x.nul}, in: in}
		err := r.each(nil, func(name string) bool { return send(ctx, l.rest, name) })
		if err != nil {
			l.err = fmt.Errorf("cannot read the names of files: %w", err)
		}
	}()
	return l
}

// all are the names; those that were not kept are gone.
func (l *nameList) all() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, name := range l.known {
			if !yield(name) {
				return
			}
		}
		for {
			select {
			case name, ok := <-l.rest:
				if !ok {
					return
				}
				if l.keep {
					l.known = append(l.known, name)
				}
				if !yield(name) {
					return
				}
			case <-l.ctx.Done():
				return
			}
		}
	}
}

// listed prints the paths of the WARC files of collections.
func (x *exporting) listed(ctx context.Context, collections []string, out io.Writer) error {
	paths := map[string]bool{}
	for _, start := range collections {
		id, err := x.api.Collection(ctx, start)
		if err != nil {
			return asked(ctx, err)
		}
		q := x.query
		q.Collection = id
		warcs, err := x.api.Warcs(ctx, q)
		if err != nil {
			return asked(ctx, err)
		}
		for _, w := range warcs {
			paths[x.prefixes.Local(w.Path)] = true
		}
	}
	end := byte('\n')
	if x.nul {
		end = 0
	}
	to := bufio.NewWriter(out)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		to.WriteString(path)
		to.WriteByte(end)
	}
	if err := to.Flush(); err != nil {
		return fmt.Errorf("cannot print: %w", err)
	}
	return nil
}

// asked is an error of the API, with what to do about it.
func asked(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return interrupted{"the list of WARC files"}
	case errors.As(err, new(*export.AnswerError)):
		return hinted{err, "is that the REST API of SFM? -a names it, such as http://api:8080"}
	}
	return err
}
