package command

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"

	"srpump/pipeline/warc"
)

// A printing is warc cat.
type printing struct {
	*run
	kind, uri string
	payload   bool
	to        *bufio.Writer
	found     int
}

func catVerb(fs *flag.FlagSet) func(*run) error {
	p := &printing{}
	fs.StringVar(&p.kind, "type", "", "only records of this `type`")
	fs.StringVar(&p.uri, "uri", "", "only records of this target `URI`, in which * is anything")
	fs.BoolVar(&p.payload, "payload", false, "print the payload alone, decoded")
	return func(r *run) error {
		p.run, p.to = r, bufio.NewWriter(r.out)
		damaged := 0
		err := p.file(r.args[0], r.args[1:], &damaged)
		return errors.Join(err, p.to.Flush(), failed(damaged))
	}
}

func (p *printing) file(name string, offsets []string, damaged *int) error {
	in, done, err := p.open(name)
	if err != nil {
		return err
	}
	defer done()
	if len(offsets) == 0 {
		_, err = p.each(in, name, warc.ReadOptions{Report: p.complain(name, damaged)}, func(rec *warc.Record) error { return untold(p.print(rec)) })
	}
	for _, text := range offsets {
		if err == nil {
			err = p.one(in, name, text)
		}
	}
	if err == nil && p.found == 0 && *damaged == 0 {
		return fmt.Errorf("cannot find such a record in %q", name)
	}
	return err
}

// one prints the record at an offset.
func (p *printing) one(in io.Reader, name, text string) error {
	offset, err := strconv.ParseInt(text, 10, 64)
	if err != nil || offset < 0 {
		return mistake{fmt.Errorf("%q is no offset", text), "warc cat [option ...] file [offset ...]"}
	}
	seeker, ok := in.(io.Seeker)
	err = errors.ErrUnsupported
	if ok {
		_, err = seeker.Seek(offset, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("cannot go to offset %d of %q: %w", offset, name, cause(err))
	}
	rec, err := warc.NewReader(in, warc.ReadOptions{}).Next()
	if err == nil && rec.Offset != offset || err == io.EOF {
		return hinted{fmt.Errorf("cannot find a record at offset %d of %q", offset, name), "warc ls lists the offsets, and warc check what is damaged"}
	}
	if err != nil {
		return fmt.Errorf("cannot read %q: %w", name, cause(err))
	}
	if err := p.print(rec); err != nil {
		return fmt.Errorf("cannot print the record at offset %d of %q: %w", offset, name, err)
	}
	return nil
}

// untold is an error without the damage the reader tells of.
func untold(err error) error {
	if errors.As(err, new(*warc.Fault)) {
		return nil
	}
	return err
}

// print prints a record if it is one of those asked for: what can be read of it.
func (p *printing) print(rec *warc.Record) error {
	if p.kind != "" && !strings.EqualFold(rec.Type(), p.kind) || p.uri != "" && !matches(p.uri, rec.URI()) {
		return nil
	}
	p.found++
	block := rec.Block
	if p.payload {
		var err error
		if block, err = rec.Payload(); err != nil {
			return fmt.Errorf("cannot decode the payload at offset %d: %w", rec.Offset, err)
		}
	} else if _, err := p.to.Write(rec.Head); err != nil {
		return err
	}
	_, err := io.Copy(p.to, block)
	if !p.payload { // also behind what is damaged, so that the next can be told from it
		_, _ = p.to.WriteString("\r\n\r\n") // the last Flush tells
	}
	return err
}

// matches tells whether text is like a pattern, in which * stands for anything.
func matches(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if !strings.HasPrefix(text, parts[0]) {
		return false
	}
	text = text[len(parts[0]):]
	if len(parts) == 1 {
		return text == ""
	}
	last := parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return strings.HasSuffix(text, last)
}
