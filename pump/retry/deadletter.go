package retry

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
	"unicode/utf8"

	"srpump/post"
)

// deadLetterMax is the size in bytes at which the file becomes <name>.1, over an older one.
const deadLetterMax = 64 << 20

// deadBodyMax is how many bytes are kept of a message nobody understands: more than an announcement has that
// carries the largest file (post.MaxContent), and no more, as a stranger says how long it is.
const deadBodyMax = 8 << 20

// A DeadLetter is the file of what was given up, one JSON object per line with the keys
// time, why, tries, topic, headers, and notice (the first line) or body_base64 where that is
// not UTF-8; headers that are no text are in headers._retry_types. It is for people
// and their scripts, and read again only for a List or an Order.
type DeadLetter struct {
	path string
	max  int64

	mu sync.Mutex // held while writing

	joining sync.Mutex // taken last
	next    *deadBatch
}

// A deadBatch is what is written next: lines that callers join while one of them writes share a write and a sync.
type deadBatch struct {
	lines []byte
	done  bool
	err   error
}

// OpenDeadLetter names the file; it is made by the first Write.
func OpenDeadLetter(path string) *DeadLetter { return &DeadLetter{path: path, max: deadLetterMax} }

type deadLetter struct {
	Time    string         `json:"time"`
	Why     string         `json:"why"`
	Tries   int            `json:"tries"`
	Topic   string         `json:"topic"`
	Headers map[string]any `json:"headers"`
	Notice  *string        `json:"notice,omitempty"`
	Body    string         `json:"body_base64,omitempty"`
}

// Write records a message that can never be understood, as it was received, or the first 8 MiB of it, which
// why says then. When it returned nil the record is on the disk.
func (d *DeadLetter) Write(topic string, headers map[string]any, body []byte, why string, now time.Time) error {
	if n := len(body); n > deadBodyMax {
		body = body[:deadBodyMax]
		why = fmt.Sprintf("%s (of %d bytes the first %d are kept)", why, n, deadBodyMax)
	}
	return d.write(post.Message{Topic: topic, Headers: headers, Body: body}, why, 1, now)
}

func (d *DeadLetter) write(m post.Message, why string, tries int, now time.Time) error {
	rec := deadLetter{Time: post.FormatTime(now), Why: why, Tries: tries, Topic: m.Topic, Headers: map[string]any{}}
	for k, v := range m.Headers {
		rec.Headers[k] = v
	}
	if err := textHeaders(rec.Headers); err != nil {
		return err
	}
	if notice := string(m.Body); utf8.ValidString(notice) {
		rec.Notice = &notice
	} else {
		rec.Body = base64.StdEncoding.EncodeToString(m.Body)
	}
	line, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	return d.wait(d.join(line))
}

func (d *DeadLetter) join(line []byte) *deadBatch {
	d.joining.Lock()
	defer d.joining.Unlock()
	if d.next == nil {
		d.next = &deadBatch{}
	}
	d.next.lines = append(append(d.next.lines, line...), '\n')
	return d.next
}

// wait returns when b is on the disk, or could not be put there.
func (d *DeadLetter) wait(b *deadBatch) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if b.done {
		return b.err
	}
	d.joining.Lock()
	d.next = nil
	d.joining.Unlock()
	if err := d.append(b.lines); err != nil {
		b.err = fmt.Errorf("cannot write %q: %w", d.path, err)
	}
	b.lines, b.done = nil, true
	return b.err
}

// append writes whole lines, synced, or nothing of them.
func (d *DeadLetter) append(lines []byte) error {
	if err := d.rotate(int64(len(lines))); err != nil {
		return err
	}
	f, err := os.OpenFile(d.path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	if torn(f, fi.Size()) { // by a kill: keep what is there apart
		lines = append([]byte{'\n'}, lines...)
	}
	if _, err := f.Write(lines); err != nil {
		return errors.Join(err, f.Truncate(fi.Size()))
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if fi.Size() == 0 {
		return syncDir(filepath.Dir(d.path))
	}
	return nil
}

func (d *DeadLetter) rotate(more int64) error {
	fi, err := os.Stat(d.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (fi.Size() == 0 || fi.Size()+more <= d.max) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.Rename(d.path, d.path+".1")
}

// torn reports whether the last line of f has no end.
func torn(f *os.File, size int64) bool {
	var last [1]byte
	if size == 0 {
		return false
	}
	_, err := f.ReadAt(last[:], size-1)
	return err == nil && last[0] != '\n'
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
