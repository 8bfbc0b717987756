package spool

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// quiet is how long nobody must have written to a file without a meta.
const quiet = time.Second

// Settled tells whether a message somebody left in a directory is whole: one with a meta is, any other when
// nobody has written to it for a second. One that is not is to be looked at again at that time; the zero
// time is for one that is gone.
func Settled(dir, name string, now time.Time) (whole bool, again time.Time) {
	path := filepath.Join(dir, name)
	if _, err := os.Lstat(path + metaSuffix); err == nil {
		return true, time.Time{}
	}
	info, err := os.Lstat(path)
	if err != nil {
		return false, time.Time{}
	}
	again = info.ModTime().Add(quiet)
	return !again.After(now) || info.ModTime().After(now.Add(quiet)), again // or the clock went back
}

// SetAside moves a message from a directory to another, with its meta, and why in NAME.why. The reason and
// the meta are there before the message is.
func SetAside(dir, name, to string, why error) error {
	if err := os.MkdirAll(to, 0o775); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(to, name+".why"), []byte(why.Error()+"\n"), true); err != nil {
		return err
	}
	meta := filepath.Join(dir, name+metaSuffix)
	if err := os.Link(meta, filepath.Join(to, name+metaSuffix)); err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(filepath.Join(dir, name), filepath.Join(to, name)); err != nil {
		return err
	}
	if err := errors.Join(SyncDir(to), SyncDir(dir)); err != nil {
		return err
	}
	if err := os.Remove(meta); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
