package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"srpump/pump/daemon"
)

const (
	lockName   = ".lock"
	failedName = "failed" // directory of what cannot be published
)

// errTaken is a directory that another process works in.
type errTaken struct{}

func (errTaken) Error() string {
	return "another sr_spool works in it; one can have several subtopic lines"
}

// Is makes errors.Is(err, daemon.ErrBusy) true.
func (errTaken) Is(target error) bool { return target == daemon.ErrBusy }

// lockDir makes a directory and takes it for this process, until it ends or the file is closed.
func lockDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o775); err != nil {
		return nil, fmt.Errorf("cannot make the directory %q: %w", dir, cause(err))
	}
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot lock %q: %w", dir, cause(err))
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = errTaken{}
		}
		return nil, fmt.Errorf("cannot lock %q: %w", dir, err)
	}
	return f, nil
}

// cause leaves out the path a message names anyway.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// sweep removes what an earlier run was writing when it ended: only the holder of the lock may.
func sweep(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	there := make(map[string]bool, len(entries))
	for _, e := range entries {
		there[e.Name()] = true
	}
	for name := range there {
		if !isLeft(name, there) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// isLeft tells a temporary name of ours, and a meta of ours whose body is not there: it was not yet
// visible, or was taken by somebody who was cut off.
func isLeft(name string, there map[string]bool) bool {
	if bare, ok := strings.CutSuffix(name, tempSuffix); ok {
		_, ours := arrivalOf(strings.TrimPrefix(bare, "."))
		return ours && strings.HasPrefix(bare, ".")
	}
	body, ok := strings.CutSuffix(name, metaSuffix)
	_, ours := arrivalOf(body)
	return ok && ours && !there[body]
}
