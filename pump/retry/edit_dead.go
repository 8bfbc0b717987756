package retry

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// dueAtOnce is how many dead letters are taken back into the queue by one write.
const dueAtOnce = 1000

// A deadEdit takes letters out of a file that others go on writing to. It reads what the file held when it began, a
// line at a time, and copies what stays; what has been added since is copied when the copy takes the place of the
// file, and only then does who writes wait.
type deadEdit struct {
	q    *Queue
	from *os.File
	size int64    // of what is looked at
	kept *os.File // the copy, beside it
	w    *bufio.Writer

	taken, left int
	written     batches // of what was taken back and is not on the disk
	waiting     int     // how many of those
}

// editDead takes the dead letters meant out of their files, those to be tried again only after they are in the queue
// on the disk: what is killed in between is done again.
func (q *Queue) editDead(o Order, out *Outcome) error {
	files, err := q.openDead()
	for _, from := range files {
		if err == nil {
			err = q.editFile(from, o, out)
		}
		err = errors.Join(err, from.Close())
	}
	return err
}

// openDead opens all files at once: the next letter may have the newer take the place of the older.
func (q *Queue) openDead() (files []*os.File, err error) {
	q.dead.mu.Lock()
	defer q.dead.mu.Unlock()
	for _, path := range deadLetterFiles(filepath.Dir(q.path)) {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return files, err
		}
		files = append(files, f)
	}
	return files, nil
}

func (q *Queue) editFile(from *os.File, o Order, out *Outcome) error {
	e := &deadEdit{q: q, from: from}
	err := e.sort(o)
	if err == nil && e.taken > 0 {
		err = e.swap()
	}
	if err = errors.Join(err, e.end()); err == nil {
		out.Dead += e.taken
		out.Left += e.left
	}
	return err
}

// sort carries the order out, and has kept hold what stays, on the disk.
func (e *deadEdit) sort(o Order) error {
	info, err := e.from.Stat()
	if err != nil {
		return err
	}
	e.size = info.Size()
	name := filepath.Join(filepath.Dir(e.q.path), deadLetterFile+".tmp")
	if e.kept, err = os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	e.w = bufio.NewWriterSize(e.kept, 1<<20)
	r := bufio.NewReaderSize(io.NewSectionReader(e.from, 0, e.size), 1<<20)
	for last := false; !last; {
		line, err := readLine(r)
		last = errors.Is(err, io.EOF)
		if err == nil || last {
			err = e.take(line, o)
		}
		if err != nil {
			return fmt.Errorf("cannot edit %q: %w", e.from.Name(), err)
		}
	}
	return errors.Join(e.settle(), e.w.Flush(), e.kept.Sync())
}

// take does what the order says of one line, which a kill may have left without an end.
func (e *deadEdit) take(line []byte, o Order) error {
	if len(line) == 0 {
		return nil
	}
	l, a, err := decodeDead(line)
	meant := err == nil && Matches(o.Patterns, l.Path)
	if meant && o.Do == Requeue && a == nil {
		e.left++
		meant = false
	}
	if !meant {
		_, err := e.w.Write(line)
		if line[len(line)-1] != '\n' {
			err = errors.Join(err, e.w.WriteByte('\n'))
		}
		return err
	}
	e.taken++
	if o.Do != Requeue {
		return nil
	}
	b, err := e.q.revive(a, l.Why)
	e.written.add(b)
	if e.waiting++; err == nil && e.waiting >= dueAtOnce {
		err = e.settle()
	}
	return err
}

// settle waits until what was taken back is on the disk.
func (e *deadEdit) settle() error {
	err := e.written.wait(e.q)
	e.written, e.waiting = nil, 0
	return err
}

// swap has what stays, and what was added meanwhile, take the place of the file, by whatever name that goes now. When
// a newer file has taken its own, nothing is left of it to change.
func (e *deadEdit) swap() error {
	d := e.q.dead
	d.mu.Lock()
	defer d.mu.Unlock()
	path, err := e.name()
	if err != nil || path == "" {
		return err
	}
	if _, err := io.Copy(e.w, io.NewSectionReader(e.from, e.size, 1<<62)); err != nil {
		return fmt.Errorf("cannot rewrite %q: %w", path, err)
	}
	if err := errors.Join(e.w.Flush(), e.kept.Sync()); err != nil {
		return fmt.Errorf("cannot rewrite %q: %w", path, err)
	}
	info, err := e.kept.Stat()
	if err == nil && info.Size() == 0 {
		err = os.Remove(path)
	} else if err == nil {
		err = os.Rename(e.kept.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("cannot rewrite %q: %w", path, err)
	}
	return syncDir(filepath.Dir(path))
}

// name is what the file is called now, or nothing. The lock of the dead letters is held.
func (e *deadEdit) name() (string, error) {
	was, err := e.from.Stat()
	if err != nil {
		return "", err
	}
	for _, path := range deadLetterFiles(filepath.Dir(e.q.path)) {
		is, err := os.Stat(path)
		if err == nil && os.SameFile(was, is) {
			return path, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", nil
}

// end removes the copy where it did not take the place of the file.
func (e *deadEdit) end() error {
	if e.kept == nil {
		return nil
	}
	err := e.kept.Close()
	if gone := os.Remove(e.kept.Name()); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}
