package export

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// A segment is one file of an export.
type segment interface {
	// add puts a row of a batch behind the others.
	add(w *rows, n int) error
	// end completes the file and writes it to the disk.
	end() error
	// drop gives up.
	drop()
}

// segments are the files of an export, one after the other: PREFIX_NNN.EXT with NNN from 001.
type segments struct {
	dir, prefix string
	look        *look
	size        int64 // items of each; 0 is all in one

	number int
	held   int64 // items in the open one
	open   segment
	total  int64
	cut    int64 // texts that were too long for their cell
}

// add puts an item into the segment it belongs in.
func (s *segments) add(w *rows, n int) error {
	if s.open != nil && s.size > 0 && s.held == s.size {
		if err := s.end(); err != nil {
			return err
		}
	}
	if s.open == nil {
		if err := s.next(); err != nil {
			return err
		}
	}
	s.held++
	s.total++
	return s.open.add(w, n)
}

// next opens a segment.
func (s *segments) next() (err error) {
	s.number++
	s.held = 0
	path := filepath.Join(s.dir, fmt.Sprintf("%s_%03d.%s", s.prefix, s.number, s.look.format.ext))
	if s.look.format.row == nil {
		s.open, err = newSheets(path, s.look, &s.cut)
	} else {
		s.open, err = newTextFile(path, s.look)
	}
	return err
}

// end completes the open segment.
func (s *segments) end() error {
	open := s.open
	s.open = nil
	if open == nil {
		return nil
	}
	return open.end()
}

// finish completes all. An export without items is one file without rows.
func (s *segments) finish() error {
	if s.number == 0 {
		if err := s.next(); err != nil {
			return err
		}
	}
	return s.end()
}

// drop gives up what is open.
func (s *segments) drop() {
	if s.open != nil {
		s.open.drop()
		s.open = nil
	}
}

// A textFile is a segment of lines.
type textFile struct {
	f    *os.File
	to   *bufio.Writer
	look *look
}

func newTextFile(path string, l *look) (segment, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o664)
	if err != nil {
		return nil, err
	}
	t := &textFile{f, bufio.NewWriterSize(f, 256<<10), l}
	if l.format.head == nil {
		return t, nil
	}
	w := l.rows()
	if err := l.format.head(w); err != nil {
		t.drop()
		return nil, err
	}
	_, err = t.to.Write(w.text.Bytes())
	return t, err
}

func (t *textFile) add(w *rows, n int) error {
	_, err := t.to.Write(w.row(n))
	return err
}

func (t *textFile) end() error {
	_, err := t.to.WriteString(t.look.format.foot)
	if err == nil {
		err = t.to.Flush()
	}
	if err == nil {
		err = t.f.Sync()
	}
	return errors.Join(err, t.f.Close())
}

func (t *textFile) drop() { _ = t.f.Close() } // what is in it is thrown away
