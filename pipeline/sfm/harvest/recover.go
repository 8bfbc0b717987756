package harvest

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"srpump/pipeline/sfm"
	"srpump/pipeline/spool"
	"srpump/pipeline/warc"
)

// settle commits everything that an earlier run, or one that could not write, has left.
func (h *harvest) settle() error {
	if err := h.settleCommits(); err != nil {
		return err
	}
	return h.settleFiles()
}

// settleCommits does what commit records say that are still there.
func (h *harvest) settleCommits() error {
	records, err := named(h.dir, "", commitSuffix)
	if err != nil {
		return &PersistError{err}
	}
	for _, path := range records {
		var c commit
		if err := readJSON(path, &c); err != nil {
			return &PersistError{err}
		}
		if c.Warc != nil && h.o.Known != nil && h.o.Known(c.Warc.ID) {
			c.Messages = slices.DeleteFunc(c.Messages, func(m message) bool { return m.Key == sfm.CreatedKey })
		}
		if err := h.redo(&c); err != nil {
			return err
		}
	}
	return nil
}

// settleFiles commits WARCs that are finished, then what can be saved of one that is not.
func (h *harvest) settleFiles() error {
	entries, err := os.ReadDir(h.dir)
	if err != nil {
		return &PersistError{err}
	}
	// They are of one recorder: their numbers, and not the clock, tell their order.
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(serialOf(a.Name()), serialOf(b.Name())) })
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), warcSuffix) {
			if err := h.settleFile(e.Name()); err != nil {
				return err
			}
		}
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), openSuffix); ok {
			if err := h.mend(name); err != nil {
				return err
			}
		}
	}
	if err := h.settleParts(); err != nil {
		return err
	}
	return h.sweep(entries)
}

// settleParts makes a WARC of streams that were being recorded when the process was killed, or when there
// was no room for one.
func (h *harvest) settleParts() error {
	paths, err := named(h.dir, "stream-", partSuffix)
	if err != nil || len(paths) == 0 {
		return err
	}
	var made []closed
	r := h.recorder(h.base(), newScrubber(h.kind, h.start, h.o.Exact), func(c closed) { made = append(made, c) })
	for _, path := range paths {
		p, err := readPart(path)
		switch {
		case p == nil:
		case err != nil: // it had not begun
			err = p.remove()
		default:
			err = r.addPart(p, 0)
		}
		if err != nil {
			return &PersistError{errors.Join(err, r.end())}
		}
	}
	if err := r.end(); err != nil {
		return err
	}
	for _, c := range made {
		if err := h.commit(c); err != nil {
			return err
		}
	}
	return nil
}

// settleFile commits a finished WARC with what its journal says.
func (h *harvest) settleFile(name string) error {
	info, err := os.Stat(filepath.Join(h.dir, name))
	if err != nil {
		return &PersistError{err}
	}
	d, at, err := readJournal(filepath.Join(h.dir, name+journalSuffix), info.Size())
	if err != nil {
		return &PersistError{err}
	}
	return h.commit(closed{name, d, at})
}

// mend finishes a WARC whose writer was killed: it is cut back to its last whole record and committed.
func (h *harvest) mend(name string) error {
	path := filepath.Join(h.dir, name)
	whole, err := h.restore(path + openSuffix)
	if err != nil {
		return &PersistError{err}
	}
	if whole {
		h.log.Info("unfinished WARC mended", "harvest", h.start.ID, "warc", name)
		if err := errors.Join(os.Rename(path+openSuffix, path), spool.SyncDir(h.dir)); err != nil {
			return &PersistError{err}
		}
		return h.settleFile(name)
	}
	d, _, err := readJournal(path+journalSuffix, longest)
	if err != nil {
		return &PersistError{err}
	}
	if !d.empty() {
		if err := h.commit(closed{delta: d}); err != nil {
			return err
		}
	}
	if err := errors.Join(gone(path+journalSuffix), gone(path+openSuffix)); err != nil {
		return &PersistError{err}
	}
	return nil
}

// restore makes an open WARC sound and durable, and tells whether there is anything harvested in it.
func (h *harvest) restore(path string) (bool, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return false, err
	}
	r, err := warc.Truncate(f, warc.ReadOptions{}, false)
	if errors.Is(err, warc.ErrNoRecord) {
		return false, nil
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = h.dropRecorded(f)
	}
	return r.Kept > 1, err
}

// dropRecorded removes streams that are records of a WARC already: they had ended when the process was
// killed.
func (h *harvest) dropRecorded(f *os.File) error {
	paths, err := named(h.dir, "stream-", partSuffix)
	if err != nil || len(paths) == 0 {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	there := make(map[string]bool)
	for in := warc.NewReader(f, warc.ReadOptions{Unverified: true}); ; {
		rec, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		there[rec.ID()] = true
	}
	for _, path := range paths {
		p, err := readPart(path)
		if p == nil {
			return err
		}
		_ = p.file.Close() // it was only read
		if err == nil && there[p.head.ID] {
			if err := gone(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// sweep removes what is of no use any more: temporary files, and journals without their WARC.
func (h *harvest) sweep(entries []fs.DirEntry) error {
	for _, e := range entries {
		name := e.Name()
		journal, isJournal := strings.CutSuffix(name, journalSuffix)
		if isJournal {
			_, err := os.Lstat(filepath.Join(h.dir, journal))
			isJournal = errors.Is(err, fs.ErrNotExist)
		}
		if !isJournal && !strings.HasSuffix(name, tempSuffix) && !strings.HasPrefix(name, ".answer-") {
			continue
		}
		if err := gone(filepath.Join(h.dir, name)); err != nil {
			return &PersistError{err}
		}
	}
	return nil
}
