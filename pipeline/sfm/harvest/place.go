package harvest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"srpump/pipeline/sfm"
	"srpump/pipeline/spool"
)

const (
	requestName = "request.json"
	resultName  = "result.json"
	finalName   = "final.json"
	reserveName = "reserve"
	// reserveSize is room that is kept, in bytes, for what has to be written when the disk is full.
	reserveSize = 256 << 10
)

// claim makes the place for harvests in the collection and takes it, so that there is one of a kind at a
// time. The lock is held until it is closed.
func (h *harvest) claim() (*os.File, error) {
	h.collection, h.dir = h.o.local(h.start.Path), h.o.dirOf(h.start)
	if err := makeDirs("/", filepath.Dir(h.dir)); err != nil {
		return nil, err
	}
	return lockFile(filepath.Join(filepath.Dir(h.dir), h.kind.Module+".lock"), false)
}

// enter makes the directory of the harvest, or finds that there is one. What was asked for is in it,
// durable, when enter returns.
func (h *harvest) enter() (resumed bool, err error) {
	if err := makeDirs(h.collection, h.dir); err != nil {
		return false, err
	}
	_, err = os.Stat(filepath.Join(h.dir, requestName))
	if err == nil {
		_ = h.reserve() // without room there will be an error where it matters
		err = readJSON(filepath.Join(h.dir, resultName), &h.result)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return true, err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return true, err
	}
	if err := h.reserve(); err != nil {
		return false, err
	}
	request, err := withoutCredentials(h.start) // they come with the request when it comes again
	if err == nil {
		err = spool.Replace(filepath.Join(h.dir, requestName), request, 0o664)
	}
	return false, err
}

func withoutCredentials(s *sfm.Start) ([]byte, error) {
	plain := *s
	plain.Credentials = nil
	return json.Marshal(plain)
}

// dirName is the name of the directory of a harvest; ids that make one safe name still have two.
func dirName(id string) string {
	name := sfm.SafeName(id)
	if name == id {
		return name
	}
	sum := sha256.Sum256([]byte(id))
	return name + "-" + hex.EncodeToString(sum[:4])
}

// reserve takes up the room for what has to be written when the disk is full.
func (h *harvest) reserve() error {
	f, err := os.Create(filepath.Join(h.dir, reserveName))
	if err != nil {
		return err
	}
	err = unix.Fallocate(int(f.Fd()), 0, 0, reserveSize)
	if errors.Is(err, unix.EOPNOTSUPP) {
		_, err = f.Write(make([]byte, reserveSize))
	} else if err != nil {
		err = &fs.PathError{Op: "write", Path: f.Name(), Err: err}
	}
	return errors.Join(err, f.Close())
}

// free gives that room up.
func (h *harvest) free() error { return gone(filepath.Join(h.dir, reserveName)) }

// gonePrefix is that of directories of harvests that have ended.
const gonePrefix = ".gone-"

// discard removes the directory of a harvest in one step, as far as others are concerned, and what is
// left of earlier ones.
func discard(dir string) error {
	parent, name := filepath.Split(dir)
	if err := os.Rename(dir, filepath.Join(parent, gonePrefix+name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	old, err := named(parent, gonePrefix, "")
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(old) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if err := spool.SyncDir(parent); err != nil {
		return err
	}
	for _, dir := range old {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return nil
}

// dirOf is the directory of a harvest.
func (o *Options) dirOf(s *sfm.Start) string {
	return filepath.Join(o.local(s.Path), hidden, dirName(s.ID))
}
