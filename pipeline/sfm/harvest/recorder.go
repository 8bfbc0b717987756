package harvest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"srpump/pipeline/spool"
	"srpump/pipeline/warc"
)

const (
	openSuffix = ".open" // of a WARC that is being written
	warcSuffix = ".warc.gz"
	// longest is what a WARC must stay below, in bytes: what keeps its size in 32 bits cannot take
	// more.
	longest = 1<<31 - 1<<20
	// overhead is more than heads, compression and the request add to a body of a record, in bytes.
	overhead = 1 << 20
)

// A PersistError is what could not be written where harvests are kept.
type PersistError struct{ Err error }

func (e *PersistError) Error() string { return "cannot keep what was harvested: " + e.Err.Error() }
func (e *PersistError) Unwrap() error { return e.Err }

// A recorder writes WARCs into the directory of a harvest, one after the other, and beside each a
// journal of what changed meanwhile.
type recorder struct {
	dir, prefix string
	about       func() warc.Fields // of a warcinfo record
	roll        time.Duration
	size        int64
	now         func() time.Time
	closed      func(closed) // takes what is finished
	at          func(step string)

	mu      sync.Mutex
	file    *os.File
	to      *warc.Writer
	name    string
	opened  time.Time // of the clock that only goes forward
	serial  int
	records int // but the warcinfo
	journal *journal
	pending delta // what was noted since the last record that has a file
	err     error // from which on nothing is written
}

// add writes records that belong together. size is about how many bytes they have.
func (r *recorder) add(size int64, records ...*warc.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return r.err
	}
	if size > longest-overhead {
		return fmt.Errorf("cannot record %d bytes: a WARC has less than %d", size, longest)
	}
	if r.file != nil && (r.due() || r.to.Whole()+size+overhead > longest) {
		if err := r.finish(); err != nil {
			return err
		}
	}
	if r.file == nil {
		if err := r.open(); err != nil {
			return r.broken(err)
		}
	}
	for _, rec := range records {
		if _, err := r.to.Write(rec); err != nil {
			return r.broken(err)
		}
		r.records++
	}
	return nil
}

// broken ends all writing. What is whole stays.
func (r *recorder) broken(err error) error {
	r.err = &PersistError{err}
	return r.err
}

// fail ends all writing for a reason of somebody else.
func (r *recorder) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
}

// failure is why nothing is written any more, or nil.
func (r *recorder) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// note writes down what has changed, as of what was recorded so far. It may speak of what could not be
// recorded; nothing is noted after that.
func (r *recorder) note(d delta) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.err != nil:
	case r.file == nil:
		r.pending.add(d)
	default:
		if err := r.journal.add(r.to.Whole(), d); err != nil {
			r.broken(err)
		}
	}
}

// due tells whether it is time for another file.
func (r *recorder) due() bool {
	return r.file != nil && r.records > 0 && (time.Since(r.opened) >= r.roll || r.to.Whole() >= r.size)
}

func (r *recorder) rollIfDue() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil || !r.due() {
		return r.err
	}
	return r.finish()
}

// until is how long the file may still be written to.
func (r *recorder) until() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return r.roll
	}
	return r.roll - time.Since(r.opened)
}

// open begins a file. Its name has the time in UTC, by which the collection is ordered.
func (r *recorder) open() error {
	stamp := strings.Replace(r.now().UTC().Format("20060102150405.000"), ".", "", 1)
	name := fmt.Sprintf("%s-%s-%05d-%s%s", r.prefix, stamp, r.serial, letters(8), warcSuffix)
	f, err := os.OpenFile(filepath.Join(r.dir, name+openSuffix), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o664)
	if err != nil {
		return err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return errors.Join(err, f.Close())
	}
	j, err := openJournal(filepath.Join(r.dir, name+journalSuffix))
	if err != nil {
		return errors.Join(err, f.Close())
	}
	// One worker: a record is with the kernel before the next is asked for.
	to, err := warc.NewWriter(f, warc.WriteOptions{Hex: true, Workers: 1, TempDir: r.dir})
	if err != nil {
		return errors.Join(err, j.Close(), f.Close())
	}
	r.file, r.to, r.name, r.journal, r.opened, r.records = f, to, name, j, time.Now(), 0
	r.serial++
	if _, err := to.Write(warc.NewInfo(warc.V10, name, r.now(), r.about())); err != nil {
		return err
	}
	if r.pending.empty() {
		return nil
	}
	err = j.add(0, r.pending)
	r.pending = delta{}
	return err
}

// serialOf is the number of a file among those of its recorder, from its name.
func serialOf(name string) int {
	parts := strings.Split(name, "-")
	if len(parts) < 2 {
		return 0
	}
	n, _ := strconv.Atoi(parts[len(parts)-2])
	return n
}

// letters are that many random ones.
func letters(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // it never fails
	for i := range b {
		b[i] = 'a' + b[i]%26
	}
	return string(b)
}

// finish makes the open file durable, gives it its name and hands it on.
func (r *recorder) finish() error {
	err := r.seal()
	if err != nil && r.err == nil {
		r.broken(err)
	}
	return err
}

func (r *recorder) seal() error {
	whole, f, path := r.to.Close(), r.file, filepath.Join(r.dir, r.name)
	defer f.Close()
	r.file = nil
	if whole != nil { // it may end in the midst of a record
		if err := f.Truncate(r.to.Whole()); err != nil {
			return errors.Join(err, r.journal.Close())
		}
	}
	if err := errors.Join(f.Sync(), r.journal.close()); err != nil {
		return err
	}
	if r.records == 0 {
		r.pending = r.journal.all
		return errors.Join(os.Remove(path+openSuffix), os.Remove(path+journalSuffix))
	}
	if err := os.Rename(path+openSuffix, path); err != nil {
		return err
	}
	if err := spool.SyncDir(r.dir); err != nil {
		return err
	}
	r.closed(closed{r.name, r.journal.all, r.journal.at})
	return nil
}

// end finishes the open file, and hands on what belongs to none. It is done also after an error:
// what is whole then is kept.
func (r *recorder) end() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var err error
	if r.file != nil {
		err = r.finish()
	}
	if !r.pending.empty() && err == nil {
		r.closed(closed{delta: r.pending})
		r.pending = delta{}
	}
	return err
}
