package pump

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"srpump/pump/broker"
	"srpump/pump/retry"
)

// A savedFile is one file of saved announcements on its way through the flow.
type savedFile struct {
	path  string
	file  *os.File
	lines *bufio.Reader
	line  int  // lines read
	open  int  // handed out and not ended
	read  bool // to its end
	count int  // announcements handed out
}

func openSaved(path string) (*savedFile, error) {
	file, err := retry.TakeSave(path)
	if err != nil {
		return nil, err
	}
	return &savedFile{path: path, file: file, lines: bufio.NewReaderSize(file, 1<<20)}, nil
}

// A badLine is one that holds no announcement.
type badLine struct {
	text []byte
	at   string // file:line
	err  error
}

func (b *badLine) Error() string { return fmt.Sprintf("%s: %v", b.at, b.err) }

// next is the next announcement as a broker would deliver it; a *badLine, or io.EOF. A last line without
// end is taken when it is whole: a kill may have cut it, or somebody's editor.
func (s *savedFile) next() (*broker.Delivery, error) {
	for {
		line, err := s.lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("cannot restore: %w", err)
		}
		s.line++
		if text := bytes.TrimSpace(line); len(text) > 0 {
			return s.decode(text)
		}
		if err != nil {
			return nil, io.EOF
		}
	}
}

func (s *savedFile) decode(text []byte) (*broker.Delivery, error) {
	m, exchange, err := retry.DecodeSaved(text)
	if err != nil {
		return nil, &badLine{text, fmt.Sprintf("%s:%d", s.path, s.line), err}
	}
	return &broker.Delivery{Redelivered: true, Publishing: broker.Publishing{Exchange: exchange, Key: m.Topic, Headers: m.Headers, Body: m.Body}}, nil
}

// remove takes the file away for good.
func (s *savedFile) remove() error {
	err := os.Remove(s.path)
	if err == nil {
		err = syncDir(filepath.Dir(s.path))
	}
	return err
}
