package export

import (
	"errors"
	"io"
	"os"

	"srpump/pipeline/warc"
)

// An ending is what is known of how a file ends: whether it was read to its end, or cut off there.
// Damage behind which there are records again is another matter.
type ending struct {
	records int64
	cut     *warc.Fault // nothing came behind it
}

// next notes that there is a record, and so no end.
func (e *ending) next() {
	e.records++
	e.cut = nil
}

// takes tells whether a fault can be what the file ends with; it is then told of as that.
func (e *ending) takes(f *warc.Fault) bool {
	if f.Kind != warc.Truncated {
		return false
	}
	e.cut = f
	return true
}

// wrong says why a file was not read to its end; nil when it was.
func (e *ending) wrong(f io.Seeker) error {
	switch {
	case e.cut != nil:
		return e.cut
	case e.records > 0:
		return nil
	}
	if size, err := f.Seek(0, io.SeekEnd); err == nil && size == 0 {
		return errEmpty
	}
	return errNoWarc
}

// Why there is nothing in a file.
var (
	errEmpty  = errors.New("it is empty")
	errNoWarc = errors.New("there is no WARC record in it")
)

// open opens a WARC file.
func (o *Order) open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, errors.New("it is a directory")
	case o.regular && !info.Mode().IsRegular():
		return nil, errors.New("it is no regular file")
	}
	return os.Open(path)
}
