package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"html"
	"strings"

	"github.com/valyala/fastjson"

	"srpump/pipeline/sfm/items"
)

// A format is one form of files.
type format struct {
	name, ext string
	columns   bool // it is made of the columns of a table
	// row writes the row of an item; nil where cells are all there is to it.
	row func(w *rows, i *items.Item, cells []cell) error
	// head and foot are what stands before and behind the rows of a file; nil is nothing.
	head func(w *rows) error
	foot string
}

// formats are all that there are (sfm-messaging, Export start message).
func formats() []*format {
	return []*format{
		{name: "csv", ext: "csv", columns: true, row: (*rows).separated, head: (*rows).separatedHead},
		{name: "tsv", ext: "tsv", columns: true, row: (*rows).separated, head: (*rows).separatedHead},
		{name: "xlsx", ext: "xlsx", columns: true},
		{name: "json", ext: "json", columns: true, row: (*rows).object},
		{name: "json_full", ext: "json", row: (*rows).whole},
		{name: "html", ext: "html", columns: true, row: (*rows).tr, head: (*rows).trHead, foot: "</tbody>\n</table>\n</body>\n</html>\n"},
		{name: "dehydrate", ext: "txt", row: (*rows).id},
	}
}

// formatFor is the format of a name, or nil.
func formatFor(name string) *format {
	for _, f := range formats() {
		if f.name == name {
			return f
		}
	}
	return nil
}

// Formats are the names of all.
func Formats() []string {
	var all []string
	for _, f := range formats() {
		all = append(all, f.name)
	}
	return all
}

// HasColumns tells whether a format is made of the columns of a table.
func HasColumns(name string) bool {
	f := formatFor(name)
	return f != nil && f.columns
}

// rows are those of a batch, in the making. One goroutine uses it.
type rows struct {
	*look
	text  bytes.Buffer
	ends  []int // in the text, of each row
	cells [][]cell

	parser fastjson.Parser
	line   []string
	csv    *csv.Writer
}

// A look is what rows look like.
type look struct {
	format *format
	table  *table // nil when the format needs none
	plain  bool   // texts that look like formulas are left as they are
}

func (l *look) rows() *rows {
	w := &rows{look: l}
	w.csv = csv.NewWriter(&w.text)
	if l.format.name == "tsv" {
		w.csv.Comma = '\t'
	}
	return w
}

// add makes the row of an item. After an error there is none, and nothing of it.
func (w *rows) add(i *items.Item) error {
	before := w.text.Len()
	var cells []cell
	var err error
	if w.format.columns {
		cells, err = w.table.cells(make([]cell, 0, len(w.table.columns)), &w.parser, i)
	}
	switch {
	case err != nil:
	case w.format.row == nil:
		w.cells = append(w.cells, cells)
	default:
		err = w.format.row(w, i, cells)
	}
	if err != nil {
		w.text.Truncate(before)
		return err
	}
	w.ends = append(w.ends, w.text.Len())
	return nil
}

// row is the text of one.
func (w *rows) row(n int) []byte {
	from := 0
	if n > 0 {
		from = w.ends[n-1]
	}
	return w.text.Bytes()[from:w.ends[n]]
}

// separated is a line of CSV (RFC 4180, but for the line end) or of the same with tabs.
func (w *rows) separated(_ *items.Item, cells []cell) error {
	w.line = w.line[:0]
	for _, c := range cells {
		s := clean(c.text)
		if c.sort == text && !w.plain {
			s = guarded(s)
		}
		w.line = append(w.line, s)
	}
	return w.record()
}

func (w *rows) separatedHead() error {
	w.line = append(w.line[:0], w.table.names()...)
	return w.record()
}

func (w *rows) record() error {
	if err := w.csv.Write(w.line); err != nil {
		return err
	}
	w.csv.Flush()
	return w.csv.Error()
}

// object is a line of JSON with the columns as members, in their order.
func (w *rows) object(_ *items.Item, cells []cell) error {
	for n, c := range cells {
		lead := byte(',')
		if n == 0 {
			lead = '{'
		}
		w.text.WriteByte(lead)
		w.text.WriteString(`"` + w.table.columns[n].name + `":`)
		switch c.sort {
		case nothing:
			w.text.WriteString("null")
		case text:
			w.quoted(c.text)
		default:
			w.text.WriteString(c.text)
		}
	}
	w.text.WriteString("}\n")
	return nil
}

func (w *rows) quoted(s string) {
	e := json.NewEncoder(&w.text)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)                   // of a string, into memory
	w.text.Truncate(w.text.Len() - 1) // the line end
}

// whole is a line with the item as its platform told it.
func (w *rows) whole(i *items.Item, _ []cell) error {
	if bytes.IndexByte(i.Raw, '\n') < 0 {
		w.text.Write(i.Raw)
	} else if err := json.Compact(&w.text, i.Raw); err != nil {
		return fmt.Errorf("cannot write %q: %w", i.ID, err)
	}
	w.text.WriteByte('\n')
	return nil
}

// id is a line with the id alone.
func (w *rows) id(i *items.Item, _ []cell) error {
	w.text.WriteString(strings.NewReplacer("\n", " ", "\r", " ").Replace(i.ID))
	w.text.WriteByte('\n')
	return nil
}

// tr is a row of a table in HTML, in which nothing is a link.
func (w *rows) tr(_ *items.Item, cells []cell) error {
	w.text.WriteString("<tr>")
	for _, c := range cells {
		w.text.WriteString("<td>" + html.EscapeString(clean(c.text)) + "</td>")
	}
	w.text.WriteString("</tr>\n")
	return nil
}

func (w *rows) trHead() error {
	w.text.WriteString("<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n<title>Export</title>\n</head>\n<body>\n<table border=\"1\">\n<thead><tr>")
	for _, name := range w.table.names() {
		w.text.WriteString("<th>" + html.EscapeString(name) + "</th>")
	}
	w.text.WriteString("</tr></thead>\n<tbody>\n")
	return nil
}
