package items

import (
	"fmt"
	"slices"

	"srpump/pipeline/warc"
)

// A Reader reads the records of one file after the other, each from its first record on. Several
// goroutines need a Reader each.
type Reader struct {
	// Kinds are those of the items it yields. A harvest counts those of the first, and for
	// those of the others they are what goes with them.
	Kinds []string
	// Label is what the counted items are called in statuses, such as "flickr photos".
	Label string
	// Report is told of what cannot be read; may be nil.
	Report func(Damage)
	// Borrow has the Raw of items be good only until yield returns; that saves a copy of all.
	Borrow bool
	// MaxDocument bounds a document, or a line of several, in bytes; 0 is 64 MiB. What is longer is
	// reported, and the next record goes on.
	MaxDocument int

	// Others is told of the items of records that are none of the reader's, by their addresses; nil
	// passes over them unread. What is wrong with them is not reported. An error is that of Items.
	Others func(Item) error

	formats []format
	any     *Reader // of what is none of its own; nil until there is some
	asked   bool    // for one platform
	about   about
	lines   lines
}

// A Damage is something that cannot be read, and where.
type Damage struct {
	Offset int64  // of the record, or of its gzip member, in the file, in bytes
	Line   int    // of the payload, from 1; 0 is all of it
	URI    string // of the record
	Reason string
}

// String is the damage without its offset.
func (d Damage) String() string {
	if d.Line == 0 {
		return fmt.Sprintf("%q: %s", d.URI, d.Reason)
	}
	return fmt.Sprintf("line %d of %q: %s", d.Line, d.URI, d.Reason)
}

// For is the reader of what harvests of a type, or of several, make; false when one of them is
// not known. Harvests of type web have no items.
func For(harvestTypes ...string) (*Reader, bool) {
	r := &Reader{asked: true}
	for _, name := range harvestTypes {
		all := platforms()
		i := slices.IndexFunc(all, func(p platform) bool { return slices.Contains(p.types, name) })
		if i < 0 {
			return nil, false
		}
		r.add(all[i])
	}
	return r, true
}

// add takes in a platform, once.
func (r *Reader) add(p platform) {
	for _, kind := range p.kinds {
		if !slices.Contains(r.Kinds, kind) {
			r.Kinds = append(r.Kinds, kind)
		}
	}
	if r.Label == "" {
		r.Label = p.label
	}
	r.formats = append(r.formats, p.own()...)
}

// Any is a reader for all platforms: it goes by what the file says of its harvest, else by the
// addresses of the records.
func Any() *Reader {
	r := &Reader{Label: "items"}
	for _, p := range platforms() {
		r.add(p)
	}
	return r
}

// others reads a record of another platform for who wants to know.
func (r *Reader) others(rec *warc.Record, target target) error {
	if r.Others == nil {
		return nil
	}
	if r.any == nil {
		r.any = Any()
		r.any.lines.borrow, r.any.lines.most = true, r.lines.most
	}
	r.any.about = r.about
	for _, f := range r.any.formats {
		if f.is(target, r.about) {
			return r.any.read(f, rec, target, r.Others)
		}
	}
	return nil
}

// Types are all harvest types that there are readers for.
func Types() []string {
	var types []string
	for _, p := range platforms() {
		types = append(types, p.types...)
	}
	return types
}

// Counts tells whether an item is one of those a harvest counts.
func (r *Reader) Counts(i Item) bool { return len(r.Kinds) > 0 && i.Kind == r.Kinds[0] }

// Items yields the items of a record, in their order; nothing for records that are not its own.
// A warcinfo record says what the following ones are of. The error is that of yield, or of the
// input; what is wrong with the record is reported instead. The block of the record is read as
// far as needed.
func (r *Reader) Items(rec *warc.Record, yield func(Item) error) error {
	switch rec.Type() {
	case warc.Info:
		r.about = aboutOf(rec)
		return nil
	case warc.Response, warc.Resource:
	default:
		return nil
	}
	if r.lines.borrow, r.lines.most = r.Borrow, r.MaxDocument; r.lines.most <= 0 {
		r.lines.most = maxDocument
	}
	target := targetOf(rec)
	for _, f := range r.formats {
		if f.is(target, r.about) {
			return r.read(f, rec, target, yield)
		}
	}
	return r.others(rec, target)
}
