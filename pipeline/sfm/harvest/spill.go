package harvest

import (
	"bytes"
	"io"
	"os"
)

// spillAt is how many bytes of an answer are kept in memory; more are in a file.
const spillAt = 1 << 20

// A spill takes the bytes of an answer as they come.
type spill struct {
	dir  string // of the file
	size int64
	mem  bytes.Buffer
	file *os.File // without a name
}

func (s *spill) Write(p []byte) (int, error) {
	if s.file == nil && s.mem.Len()+len(p) <= spillAt {
		s.size += int64(len(p))
		return s.mem.Write(p)
	}
	if s.file == nil {
		if err := s.open(); err != nil {
			return 0, err
		}
	}
	n, err := s.file.Write(p)
	s.size += int64(n)
	return n, err
}

func (s *spill) open() (err error) {
	if s.file, err = os.CreateTemp(s.dir, ".answer-*"); err != nil {
		return err
	}
	if err = os.Remove(s.file.Name()); err == nil {
		_, err = s.file.Write(s.mem.Bytes())
	}
	return err
}

// reader reads it from its beginning; there is one reader at a time.
func (s *spill) reader() (io.ReadSeeker, error) {
	if s.file == nil {
		return bytes.NewReader(s.mem.Bytes()), nil
	}
	_, err := s.file.Seek(0, io.SeekStart)
	return s.file, err
}

func (s *spill) close() {
	if s.file != nil {
		_ = s.file.Close() // nothing of it is wanted
	}
}
