package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/items"
)

// Items is sfm_items(1): the items in WARC files.
type Items struct{}

// Name is what it is called.
func (Items) Name() string { return "sfm_items" }

const itemsUsage = "sfm_items [-cdl0] [-t type,...] [-s since] [-e until] [-u uid,...] [file ...]"

// Help is what -h prints.
func (c Items) Help() string {
	fs := newOptions()
	new(wanted).options(fs)
	return help(c.Name(), "print the items in WARC files of social media", itemsUsage, fs)
}

// A wanted is which items are wanted, and what of them.
type wanted struct {
	types, owners      string
	since, until       string
	counts, urls, once bool
	nul                bool

	kinds       []string // nil are all
	harvests    []string
	uids        []string
	first, last time.Time
}

func (w *wanted) options(fs *flag.FlagSet) {
	fs.BoolVar(&w.nul, "0", false, "file names on standard input end with NUL")
	fs.BoolVar(&w.counts, "c", false, "print how many items there are of each day and kind")
	fs.BoolVar(&w.once, "d", false, "of items that are there several times only the first")
	fs.StringVar(&w.until, "e", "", "only items up to this `date`")
	fs.BoolVar(&w.urls, "l", false, "print the addresses in the items")
	fs.StringVar(&w.since, "s", "", "only items from this `date` on")
	fs.StringVar(&w.types, "t", "", "only items of these kinds, or harvest `types`")
	fs.StringVar(&w.owners, "u", "", "only items of the owners with these `uids`")
}

// check reads the values of the options.
func (w *wanted) check() (err error) {
	if w.counts && w.urls {
		return errors.New("-c and -l do not go together")
	}
	if w.first, err = date(w.since, false); err != nil {
		return err
	}
	if w.last, err = date(w.until, true); err != nil {
		return err
	}
	w.uids = words(w.owners)
	for _, name := range words(w.types) {
		if slices.Contains(items.Any().Kinds, name) {
			w.kinds = append(w.kinds, name)
		} else if slices.Contains(items.Types(), name) {
			w.harvests = append(w.harvests, name)
		} else {
			return fmt.Errorf("%q is neither a kind of items (%s) nor a harvest type (%s)", name, strings.Join(items.Any().Kinds, " "), strings.Join(items.Types(), " "))
		}
	}
	return nil
}

// words are those between commas.
func words(list string) []string {
	return strings.FieldsFunc(list, func(c rune) bool { return c == ',' || c == ' ' })
}

// date is a moment; a day alone is its first, or its last. "" is the zero time.
func date(s string, last bool) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := sfm.ParseTime(s)
	if err == nil && last && len(s) == len(time.DateOnly) {
		return t.Add(24*time.Hour - 1), nil
	}
	return t.Time, err
}

// reader is one for the harvest types that are wanted; all when only kinds are, or nothing.
func (w *wanted) reader() *items.Reader {
	if len(w.harvests) > 0 && len(w.kinds) == 0 {
		if r, ok := items.For(w.harvests...); ok {
			return r
		}
	}
	return items.Any()
}

// takes tells whether an item is wanted; one without a date is of any.
func (w *wanted) takes(i items.Item) bool {
	switch {
	case len(w.kinds) > 0 && !slices.Contains(w.kinds, i.Kind):
		return false
	case len(w.uids) > 0 && !slices.Contains(w.uids, i.Owner):
		return false
	case i.Date.IsZero():
		return true
	}
	return !i.Date.Before(w.first) && (w.last.IsZero() || !i.Date.After(w.last))
}

// Run does what the arguments say. What is wrong with a single file is told by warn, and the
// error is what ends the command, or that there was something wrong. An error with a method
// Usage is one of the command line; one with a method Hint says what to do.
func (c Items) Run(ctx context.Context, args []string, in io.Reader, out io.Writer, warn func(error)) error {
	w := &wanted{}
	fs := newOptions()
	w.options(fs)
	names, err := parse(fs, apart("cdl0", args))
	if err == nil {
		err = w.check()
	}
	if i := slices.Index(names, stdin); err == nil && i >= 0 && slices.Contains(names[i+1:], stdin) {
		err = errors.New("standard input can be read once only")
	}
	if err != nil {
		return mistake{err, itemsUsage}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &printer{wanted: w, out: out, warn: warn}
	if w.counts {
		p.days = sfm.Stats{}
	}
	r := &reading{wanted: w, in: in}
	return p.all(ctx, r, names)
}
