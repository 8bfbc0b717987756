package winnow

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/cespare/xxhash/v2"
)

// The log is a directory of segments, <number>.seen, appended to in order, and the file
// "lock". A segment begins with 32 bytes, little-endian, and frames follow (frame.go):
//
//	0  8 bytes  magic "\xf7winnow\n"
//	8  uint32   version
//	12 byte     mode, byte basis, 2 bytes 0
//	16 8 bytes  0
//	24 uint64   xxhash64 of the first 24 bytes
//
// Nothing is seen again once it expired, so a segment goes as a whole, with its last record.
const (
	segmentMagic   = "\xf7winnow\n"
	segmentVersion = 1
	segmentHeader  = 32
	segmentSuffix  = ".seen"
	segmentMax     = 64 << 20 // bytes, after which the next one is begun
)

// segments is the log. Its lock is taken before that of the cache.
type segments struct {
	dir    string
	header []byte
	ttl    int64
	lock   *os.File

	mu    sync.Mutex
	old   []segment // oldest first
	cur   segment
	file  *os.File // of cur; nil until something is written
	dirty bool
	buf   []byte
}

type segment struct {
	number  int
	size    int64 // bytes up to the end of the last good frame
	records int
	begun   int64 // first and last first-seen of its records
	last    int64
}

// openSegments makes and locks the directory. Errors wrap ErrBusy.
func openSegments(dir string, o Options) (*segments, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		lock.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = ErrBusy
		}
		return nil, err
	}
	h := binary.LittleEndian.AppendUint32([]byte(segmentMagic), segmentVersion)
	h = append(h, byte(o.Mode), byte(o.Basis), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	h = binary.LittleEndian.AppendUint64(h, xxhash.Sum64(h))
	return &segments{dir: dir, header: h, ttl: int64(o.TTL), lock: lock}, nil
}

func (l *segments) name(number int) string {
	return filepath.Join(l.dir, fmt.Sprintf("%08d%s", number, segmentSuffix))
}

// numbers lists the segments, oldest first.
func (l *segments) numbers() ([]int, error) {
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		return nil, err
	}
	var ns []int
	for _, e := range entries {
		base, ok := strings.CutSuffix(e.Name(), segmentSuffix)
		if n, err := strconv.Atoi(base); ok && err == nil && n > 0 {
			ns = append(ns, n)
		}
	}
	return ns, nil
}

// append writes records. After an error the log is as it was before. The caller holds mu.
func (l *segments) append(recs []mark, now int64) error {
	if len(recs) == 0 {
		return nil
	}
	if err := l.ready(now); err != nil {
		return err
	}
	l.buf = appendFrames(l.buf[:0], recs)
	n, err := l.file.Write(l.buf)
	if err != nil {
		l.takeBack(n)
		return err
	}
	l.cur.note(recs, int64(n))
	l.dirty = true
	if cap(l.buf) > 1<<20 {
		l.buf = nil
	}
	return nil
}

func (s *segment) note(recs []mark, bytes int64) {
	for i := range recs {
		s.begun, s.last = min(s.begun, recs[i].first), max(s.last, recs[i].first)
	}
	s.size += bytes
	s.records += len(recs)
}

// takeBack removes a frame of which only n bytes could be written. Where even that fails
// the segment is left, torn, and the next one begun.
func (l *segments) takeBack(n int) {
	if n > 0 && l.file.Truncate(l.cur.size) != nil {
		_ = l.retire()
	}
}

// ready makes sure that there is a current segment, neither too large nor too old.
func (l *segments) ready(now int64) error {
	if l.file != nil && (l.cur.size > segmentMax || now-l.cur.begun > l.ttl/8) {
		if err := l.retire(); err != nil {
			return err
		}
	}
	if l.file != nil {
		return nil
	}
	return l.begin(now)
}

// begin makes the next segment; its name is durable before anything is written to it.
func (l *segments) begin(now int64) error {
	number := l.cur.number + 1
	f, err := os.OpenFile(l.name(number), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.Write(l.header); err == nil {
		err = syncDir(l.dir)
	}
	if err != nil {
		f.Close()
		os.Remove(f.Name())
		return err
	}
	l.file, l.cur = f, segment{number: number, size: segmentHeader, begun: now, last: now}
	return nil
}

// retire closes the current segment.
func (l *segments) retire() error {
	if l.file == nil {
		return nil
	}
	err := errors.Join(l.file.Sync(), l.file.Close())
	l.old = append(l.old, l.cur)
	l.file, l.dirty = nil, false
	return err
}

// drop removes the segments of which everything expired before limit.
func (l *segments) drop(limit int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.old) > 0 && l.old[0].last < limit {
		if err := os.Remove(l.name(l.old[0].number)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		l.old = l.old[1:]
	}
	return nil
}

// sync makes durable what was written. It does not keep writers waiting.
func (l *segments) sync() error {
	l.mu.Lock()
	f, dirty := l.file, l.dirty
	l.dirty = false
	l.mu.Unlock()
	if !dirty || f == nil {
		return nil
	}
	if err := f.Sync(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

func (l *segments) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.retire(), l.lock.Close())
}

// readFile reads a whole segment into memory the collector does not know. free gives it back.
func readFile(name string) (b []byte, free func(), err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || fi.Size() == 0 {
		return nil, func() {}, err
	}
	b, err = syscall.Mmap(-1, 0, int(fi.Size()), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, nil, err
	}
	free = func() { _ = syscall.Munmap(b) }
	if _, err := io.ReadFull(f, b); err != nil {
		free()
		return nil, nil, err
	}
	return b, free, nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
