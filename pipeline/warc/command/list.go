package command

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"

	"srpump/pipeline/warc"
)

// A listing is warc ls.
type listing struct {
	*run
	json bool
	to   *bufio.Writer
}

// A line is what ls tells of a record.
type line struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	Length int64  `json:"length,omitempty"` // not known of records that share a member
	Inside int64  `json:"inside,omitempty"` // offset within such a member, uncompressed
	Type   string `json:"type"`
	Date   string `json:"date"`
	URI    string `json:"uri,omitempty"`
	Status int    `json:"status,omitempty"`
	Mime   string `json:"mime,omitempty"`
	ID     string `json:"id"`
	Size   int64  `json:"size"`
	Digest string `json:"digest,omitempty"`
}

func listVerb(fs *flag.FlagSet) func(*run) error {
	l := &listing{}
	fs.BoolVar(&l.json, "json", false, "print a line of JSON for each record")
	return func(r *run) error {
		l.run, l.to = r, bufio.NewWriter(r.out)
		return l.all()
	}
}

func (l *listing) all() error {
	damaged := 0
	for _, name := range l.args {
		if err := l.file(name, &damaged); err != nil {
			return errors.Join(err, l.to.Flush())
		}
	}
	return errors.Join(l.to.Flush(), failed(damaged))
}

func (l *listing) file(name string, damaged *int) error {
	in, done, err := l.open(name)
	if err != nil {
		return err
	}
	defer done()
	_, err = l.each(in, name, warc.ReadOptions{Unverified: true, Report: l.complain(name, damaged)}, func(rec *warc.Record) error {
		return l.print(describe(name, rec))
	})
	return err
}

// describe reads a record to its end.
func describe(name string, rec *warc.Record) line {
	f := rec.Fields
	x := line{File: name, Offset: rec.Offset, Inside: rec.Inside, Type: rec.Type(), Date: f.Get(warc.FieldDate), URI: rec.URI(), Mime: warc.MediaType(f.Get(warc.FieldContentType)),
		ID: rec.ID(), Size: rec.Size, Digest: f.Get(warc.FieldPayloadDigest)}
	if rec.IsHTTP() {
		if m, err := warc.ReadMessage(rec.Block); err == nil {
			x.Status, x.Mime = m.Status(), warc.MediaType(m.Fields.Get(warc.FieldContentType))
		}
	}
	_, _ = io.Copy(io.Discard, rec.Block) // what is wrong is reported
	if end := rec.End(); end > 0 && rec.Inside == 0 {
		x.Length = end - rec.Offset
	}
	return x
}

func (l *listing) print(x line) error {
	if l.json {
		e := json.NewEncoder(l.to)
		e.SetEscapeHTML(false)
		return e.Encode(x)
	}
	if len(l.args) > 1 {
		fmt.Fprintf(l.to, "%s ", printable(x.File))
	}
	_, err := fmt.Fprintf(l.to, "%d %s %s %s %s %s %s\n", x.Offset, orDash(x.Length), printable(x.Type), printable(x.Date),
		orDash(int64(x.Status)), printable(x.Mime), printable(x.URI))
	return err
}

func orDash(n int64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}
