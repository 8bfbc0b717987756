package spool

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
)

// The name of a segment is the time of its beginning; it is hidden while it is written.
const (
	segmentTime   = "20060102T150405.000000000Z"
	segmentSuffix = ".jsonl.gz"
	openSuffix    = ".open"
)

// A segment is a file that messages are added to. Each batch is a gzip member of its own, so that a
// cut takes at most the batch that was not yet synced, and so not acknowledged.
type segment struct {
	path  string // while it is written
	file  *os.File
	size  int64 // bytes that are whole and synced
	lines int64
	since time.Time
	buf   bytes.Buffer
	zip   *gzip.Writer
}

// newSegment begins a segment later than last, and returns its name.
func newSegment(dir string, now, last time.Time) (*segment, error) {
	if !now.After(last) {
		now = last.Add(1)
	}
	g := &segment{path: filepath.Join(dir, "."+now.UTC().Format(segmentTime)+segmentSuffix+openSuffix), since: now}
	var err error
	if g.file, err = os.OpenFile(g.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644); err != nil {
		return nil, fmt.Errorf("cannot begin a segment: %w", err)
	}
	g.zip = gzip.NewWriter(&g.buf)
	return g, nil
}

// add writes lines and syncs them. After an error they can be added again.
func (g *segment) add(lines [][]byte) error {
	g.buf.Reset()
	g.zip.Reset(&g.buf)
	for _, l := range lines {
		if _, err := g.zip.Write(l); err != nil {
			return err
		}
	}
	if err := g.zip.Close(); err != nil {
		return err
	}
	_, err := g.file.WriteAt(g.buf.Bytes(), g.size)
	if err == nil {
		err = g.file.Sync()
	}
	if err != nil {
		return errors.Join(err, g.file.Truncate(g.size))
	}
	g.size += int64(g.buf.Len())
	g.lines += int64(len(lines))
	return nil
}

// sealedName is the name an open segment is given in the end.
func sealedName(open string) string {
	dir, name := filepath.Split(open)
	return filepath.Join(dir, strings.TrimSuffix(strings.TrimPrefix(name, "."), openSuffix))
}

// seal makes a segment visible and returns its name. One without anything in it goes.
func (g *segment) seal() (name string, err error) {
	if err := g.file.Close(); err != nil {
		return "", fmt.Errorf("cannot seal a segment: %w", err)
	}
	return seal(g.path, g.size)
}

func seal(open string, size int64) (name string, err error) {
	name = sealedName(open)
	if size == 0 {
		return "", os.Remove(open)
	}
	if err := os.Rename(open, name); err != nil {
		return "", fmt.Errorf("cannot seal a segment: %w", err)
	}
	return name, SyncDir(filepath.Dir(name))
}

// mend cuts an unsealed segment after its last whole member, which is the last that was acknowledged
// or later, and returns its length and how much was cut.
func mend(path string) (whole, cut int64, err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, 0, err
	}
	if whole, err = wholeMembers(f); err != nil {
		return 0, 0, err
	}
	if whole < info.Size() {
		err = f.Truncate(whole)
	}
	return whole, info.Size() - whole, errors.Join(err, f.Sync())
}

// wholeMembers is where the last whole gzip member of r ends. What follows is no error, only a failure to
// read is.
func wholeMembers(r io.Reader) (whole int64, err error) {
	n := &counted{r: r}
	in := bufio.NewReaderSize(n, 64<<10)
	z := new(gzip.Reader)
	for {
		err := z.Reset(in)
		if err == nil {
			z.Multistream(false)
			_, err = io.Copy(io.Discard, z)
		}
		if n.err != nil {
			return whole, n.err
		}
		if err != nil {
			return whole, nil
		}
		whole = n.n - int64(in.Buffered())
	}
}

// A counted reader knows how far it is, and a failure other than the end.
type counted struct {
	r   io.Reader
	n   int64
	err error
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = err
	}
	return n, err
}

// segments are the sealed ones of a directory, and those a kill has left open, in order.
func segments(dir string) (sealed, open []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read %q: %w", dir, cause(err))
	}
	for _, e := range entries {
		name := e.Name()
		switch {
		case isSegment(name):
			sealed = append(sealed, filepath.Join(dir, name))
		case strings.HasPrefix(name, ".") && strings.HasSuffix(name, openSuffix) && isSegment(filepath.Base(sealedName(name))):
			open = append(open, filepath.Join(dir, name))
		}
	}
	return sealed, open, nil
}

func isSegment(name string) bool {
	_, ok := segmentStart(name)
	return ok
}

// segmentStart is the time in the name of a segment.
func segmentStart(name string) (time.Time, bool) {
	stamp, ok := strings.CutSuffix(filepath.Base(name), segmentSuffix)
	t, err := time.Parse(segmentTime, stamp)
	return t, ok && err == nil
}
