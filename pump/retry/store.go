package retry

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// maxLine bounds a line in bytes; longer ones are not ours. A v03 body has at most 16 MiB, of which what is JSON stands
// in its line as text and, quoted twice, in headerTypes.
const maxLine = 128 << 20

// A store is a file of lines. Lines that callers join while one of them writes go to the disk
// together: one write, one sync.
type store struct {
	path   string
	noSync bool

	write sync.Mutex // held while writing; taken before any other lock but never while one is held
	file  *os.File
	size  int64 // bytes known to be whole lines
	apart bool  // the file does not end with a line feed

	mu   sync.Mutex // taken last
	next *batch
}

// A batch is what will be written next.
type batch struct {
	buf   []byte
	after []func(base int64, err error)
	done  bool
	err   error
}

// openStore opens or makes the file; every line goes to fn with its offset.
func openStore(path string, noSync bool, fn func(offset int64, line []byte) error) (*store, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	s := &store{path: path, noSync: noSync, file: f}
	if err := errors.Join(s.read(fn), syncDir(filepath.Dir(path))); err != nil {
		f.Close()
		return nil, err
	}
	return s, nil
}

// read passes all lines on. A last one without line feed was cut by a kill: what fn
// refuses of it is taken off.
func (s *store) read(fn func(int64, []byte) error) error {
	r := bufio.NewReaderSize(s.file, 1<<20)
	for {
		line, err := readLine(r)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if len(line) == 0 {
			return nil
		}
		end := s.size + int64(len(line))
		if bad := fn(s.size, bytes.TrimSuffix(line, []byte("\n"))); errors.Is(err, io.EOF) {
			if bad != nil {
				return s.file.Truncate(s.size)
			}
			s.apart = true
		}
		s.size = end
	}
}

func readLine(r *bufio.Reader) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
		if len(line) > maxLine {
			return nil, fmt.Errorf("line of more than %d bytes", maxLine)
		}
	}
}

// join adds a line to what is written next. after is called by whoever writes, with the
// line's offset or the error. The order of joins is that of the file.
func (s *store) join(line []byte, after func(offset int64, err error)) *batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = &batch{}
	}
	b, at := s.next, int64(len(s.next.buf))
	b.buf = append(b.buf, line...)
	b.after = append(b.after, func(base int64, err error) { after(base+at, err) })
	return b
}

// wait returns when b is on the disk, or could not be put there.
func (s *store) wait(b *batch) error {
	s.write.Lock()
	defer s.write.Unlock()
	if b.done {
		return b.err
	}
	s.mu.Lock()
	s.next = nil
	s.mu.Unlock()
	base, err := s.flush(b.buf)
	if err != nil {
		err = fmt.Errorf("cannot write %q: %w", s.path, err)
	}
	for _, fn := range b.after {
		fn(base, err)
	}
	b.buf, b.after, b.done, b.err = nil, nil, true, err
	return err
}

// flush writes whole lines or nothing.
func (s *store) flush(b []byte) (base int64, err error) {
	if s.file == nil {
		return 0, ErrClosed
	}
	if s.apart {
		b = append([]byte{'\n'}, b...)
	}
	_, err = s.file.Write(b)
	if err == nil && !s.noSync {
		err = s.file.Sync()
	}
	if err != nil {
		s.takeBack()
		return 0, err
	}
	base = s.size
	if s.apart {
		base++
	}
	s.size, s.apart = s.size+int64(len(b)), false
	return base, nil
}

// takeBack removes half a batch; where that fails, the next one begins on a line of its own.
func (s *store) takeBack() {
	if s.file.Truncate(s.size) == nil {
		return
	}
	if fi, err := s.file.Stat(); err == nil && fi.Size() > s.size {
		s.size, s.apart = fi.Size(), true
	}
}

// line reads n bytes at offset.
func (s *store) line(offset int64, n int) ([]byte, error) {
	b := make([]byte, n)
	if s.file == nil {
		return nil, ErrClosed
	}
	if _, err := s.file.ReadAt(b, offset); err != nil {
		return nil, fmt.Errorf("cannot read %q at %d: %w", s.path, offset, err)
	}
	return b, nil
}

// A span is where a line is, moved by rewrite.
type span struct {
	offset int64
	length int // without the line feed
}

// rewrite keeps the lines of spans alone, durably, and sets their new offsets once the new
// file is in place. The caller holds write and whatever guards the spans.
func (s *store) rewrite(spans []*span) error {
	if s.file == nil {
		return ErrClosed
	}
	f, err := os.OpenFile(s.path+".tmp", os.O_CREATE|os.O_TRUNC|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	size, err := s.copyTo(f, spans)
	if err == nil {
		err = os.Rename(f.Name(), s.path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("cannot rewrite %q: %w", s.path, err), f.Close(), os.Remove(f.Name()))
	}
	s.file.Close()
	s.file, s.size, s.apart = f, size, false
	at := int64(0)
	for _, p := range spans {
		p.offset = at
		at += int64(p.length) + 1
	}
	return syncDir(filepath.Dir(s.path))
}

func (s *store) copyTo(f *os.File, spans []*span) (size int64, err error) {
	w := bufio.NewWriterSize(f, 1<<20)
	for _, p := range spans {
		if _, err := io.Copy(w, io.NewSectionReader(s.file, p.offset, int64(p.length))); err != nil {
			return 0, err
		}
		if err := w.WriteByte('\n'); err != nil {
			return 0, err
		}
		size += int64(p.length) + 1
	}
	return size, errors.Join(w.Flush(), f.Sync())
}

// close is called with the locks of rewrite.
func (s *store) close() error {
	f := s.file
	s.file = nil
	return f.Close()
}
