package export

import (
	"slices"
	"strings"
	"time"

	"srpump/pipeline/sfm/items"
)

// An Order is what is to be exported, how, and into which directory.
type Order struct {
	ID string // begins the names of the files, in its safe form
	// Type is a harvest type; "" takes what there is, if the format has no columns or they were
	// found by Sniff.
	Type   string
	Format string
	Dir    string // replaced as a whole
	// Segment is how many items a file holds; 0 is all.
	Segment int64
	Dedupe  bool // of each item only the first
	Plain   bool // texts that look like formulas are left as they are in csv and tsv
	// Since and Until are the first and the last moment of items; zero is any. Items without a date pass.
	Since, Until time.Time
	// Owners are those whose items are asked for; none is all.
	Owners []string

	look    look
	owners  map[string]bool
	regular bool // paths are somebody else's: a pipe, which may never be written to, is no WARC file
}

// prepare finds out whether it can be done.
func (o *Order) prepare() error {
	if o.look.format = formatFor(o.Format); o.look.format == nil {
		return &Refusal{unknownFormat(o.Format)}
	}
	if o.look.table == nil {
		o.look.table = tableFor(o.Type)
	}
	switch {
	case o.Type != "" && o.look.table == nil:
		return refuse("there is no exporter for %q here, only for %s", o.Type, strings.Join(Types(), ", "))
	case o.look.format.columns && o.look.table == nil:
		return refuse("the columns are not known without a harvest type")
	}
	o.look.plain = o.Plain
	if len(o.Owners) > 0 {
		o.owners = map[string]bool{}
		for _, owner := range o.Owners {
			o.owners[o.ownerKey(owner)] = true
		}
	}
	return nil
}

// reader is one for the items; several goroutines need one each.
func (o *Order) reader() *items.Reader {
	if r, ok := items.For(o.Type); ok {
		return r
	}
	return items.Any()
}

// mine tells whether an item is of the platform that is exported, or of any when that may be.
func (o *Order) mine(i *items.Item) bool {
	if t := o.look.table; t != nil {
		return i.Kind == t.kind
	}
	return exportable(i.Kind)
}

// exportable tells whether items of a kind can be exported; others go with those.
func exportable(kind string) bool {
	return slices.ContainsFunc(tables(), func(t *table) bool { return t.kind == kind })
}

// wants tells whether an item is asked for by its date and owner.
func (o *Order) wants(i *items.Item) bool {
	if !i.Date.IsZero() && (!o.Since.IsZero() && i.Date.Before(o.Since) || !o.Until.IsZero() && i.Date.After(o.Until)) {
		return false
	}
	return o.owners == nil || o.owners[o.ownerKey(i.Owner)]
}

// ownerKey makes names alike that mean the same: a blog has its name with or without the domain.
func (o *Order) ownerKey(owner string) string {
	return strings.ToLower(strings.TrimSuffix(owner, ".tumblr.com"))
}
