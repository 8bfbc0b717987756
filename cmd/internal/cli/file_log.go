package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"time"
)

// How much of a log is shown at first, and how often it is looked at.
const (
	logTail  = 8 << 10
	logLines = 10
	logLook  = 200 * time.Millisecond
)

// followLog prints the end of the log of a configuration and what is added, over rotations,
// until it is told to stop.
func (s *session) followLog(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return usagef("log needs the name of one configuration")
	}
	name, err := s.plainName(args[0])
	if err != nil {
		return err
	}
	s.stateOf(name)
	s.cfg.Name = name
	path := s.logPath(1)
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("cannot follow the log of %q: %w", name, err)
	}
	defer func() { f.Close() }()
	if err := lastLines(f); err != nil {
		return fmt.Errorf("cannot read %q: %w", path, err)
	}
	look := time.NewTicker(logLook)
	defer look.Stop()
	for {
		next := rotatedTo(path, f) // asked first: what was written before the rotation is in f
		if _, err := io.Copy(s.Stdout, f); err != nil {
			return fmt.Errorf("cannot follow %q: %w", path, err)
		}
		if next != nil {
			f.Close()
			f = next
			continue
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// lastLines leaves f where its last lines begin.
func lastLines(f *os.File) error {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	from := max(0, end-logTail)
	b := make([]byte, end-from)
	n, err := f.ReadAt(b, from)
	if err != nil && err != io.EOF {
		return err
	}
	b = b[:n]
	keep := len(b)
	for i, lines := len(b)-1, 0; i >= 0; i-- {
		if b[i] == '\n' && i < len(b)-1 {
			lines++
		}
		if lines == logLines {
			break
		}
		keep = i
	}
	if from > 0 && keep == 0 { // it begins within a line
		keep = bytes.IndexByte(b, '\n') + 1
	}
	_, err = f.Seek(from+int64(keep), io.SeekStart)
	return err
}

// rotatedTo is the file now at path when that is not f any more.
func rotatedTo(path string, f *os.File) *os.File {
	was, err := f.Stat()
	if err != nil {
		return nil
	}
	is, err := os.Stat(path)
	if err != nil || os.SameFile(was, is) {
		return nil
	}
	next, err := os.Open(path)
	if err != nil {
		return nil
	}
	return next
}
