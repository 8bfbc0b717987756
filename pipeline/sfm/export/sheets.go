package export

import (
	"archive/zip"
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"unicode/utf16"

	"github.com/xuri/excelize/v2"
)

// The bounds of a worksheet, ECMA-376 as programs have it.
const (
	sheetRows = excelize.TotalRows
	cellUnits = excelize.TotalCellChars // UTF-16 code units of a text
	exact     = 15                      // digits a number may have to be kept as it is
	// sheetBytes is how long the XML of a worksheet may get: from 4 GiB on the archive around it is of
	// a form that not all programs read. Each byte of a text may need five, and a cell some more.
	sheetBytes = 4<<30 - 1<<20
	byteRoom   = 5
	cellRoom   = 64
)

// sheets are a segment that is a workbook of one worksheet, or of several where there are too
// many rows for one.
type sheets struct {
	path   string
	look   *look
	book   *excelize.File
	stream *excelize.StreamWriter
	number int // of the sheet
	row    int // that was written last
	bytes  int // of the XML, at most
	line   []any
	cut    *int64
}

func newSheets(path string, l *look, cut *int64) (segment, error) {
	s := &sheets{path: path, look: l, cut: cut, book: excelize.NewFile(excelize.Options{TmpDir: filepath.Dir(path)})}
	if err := s.next(); err != nil {
		s.drop()
		return nil, err
	}
	return s, nil
}

// next begins a worksheet.
func (s *sheets) next() (err error) {
	if err := s.flush(); err != nil {
		return err
	}
	s.number++
	s.row, s.bytes = 0, 0
	name := fmt.Sprintf("Sheet%d", s.number)
	if s.number > 1 {
		if _, err := s.book.NewSheet(name); err != nil {
			return err
		}
	}
	if s.stream, err = s.book.NewStreamWriter(name); err != nil {
		return err
	}
	s.line = s.line[:0]
	for _, name := range s.look.table.names() {
		s.line = append(s.line, name)
	}
	return s.write()
}

func (s *sheets) write() error {
	s.row++
	return s.stream.SetRow("A"+strconv.Itoa(s.row), s.line)
}

func (s *sheets) flush() error {
	if s.stream == nil {
		return nil
	}
	return s.stream.Flush()
}

func (s *sheets) add(w *rows, n int) error {
	size := 0
	for _, c := range w.cells[n] {
		size += len(c.text)*byteRoom + cellRoom
	}
	if s.row == sheetRows || s.bytes+size > sheetBytes {
		if err := s.next(); err != nil {
			return err
		}
	}
	s.bytes += size
	s.line = s.line[:0]
	for _, c := range w.cells[n] {
		s.line = append(s.line, s.value(c))
	}
	return s.write()
}

// value is a cell as a worksheet has it. A text is a text, whatever it looks like: it is no
// formula and no link. A number that a spreadsheet would round is a text.
func (s *sheets) value(c cell) any {
	switch c.sort {
	case nothing:
		return nil
	case truth:
		return c.text == "true"
	case number:
		if f, err := strconv.ParseFloat(c.text, 64); err == nil && len(c.text) <= exact {
			return f
		}
	}
	units := 0
	for i, r := range c.text {
		if units += max(1, utf16.RuneLen(r)); units > cellUnits {
			*s.cut++
			return clean(c.text[:i])
		}
	}
	return clean(c.text)
}

func (s *sheets) end() error {
	err := s.flush()
	if err != nil {
		s.drop()
		return err
	}
	f, err := os.OpenFile(s.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o664)
	if err != nil {
		s.drop()
		return err
	}
	to := bufio.NewWriterSize(f, 256<<10)
	// The archive would be put together in memory: it goes to the file instead.
	s.book.ZipWriter = func(io.Writer) excelize.ZipWriter { return zip.NewWriter(to) }
	if err = s.book.Write(io.Discard); err == nil {
		err = to.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close(), s.book.Close())
}

func (s *sheets) drop() { _ = s.book.Close() } // its temporary files go with the directory, too
