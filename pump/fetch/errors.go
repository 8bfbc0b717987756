package fetch

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
)

// A Class says what may be done about a local failure.
type Class int

const (
	Temporary Class = iota // local trouble that may pass: disk full, no permission, busy
	Blocked                // something else stands in the way; another announcement may remove it
	Hopeless               // it can never work: a name too long, a path that leaves the tree
	Oversize               // the source holds more bytes than announced or allowed
)

var classes = [...]string{"temporary", "blocked", "hopeless", "oversize"}

func (c Class) String() string { return classes[c] }

// An Error is a failure on this host.
type Error struct {
	Op    string // "write", "remove", "link", "read", "create"
	Path  string // below the tree
	Class Class
	Err   error
}

func (e *Error) Error() string { return fmt.Sprintf("cannot %s %q: %v", e.Op, e.Path, e.Err) }

func (e *Error) Unwrap() error { return e.Err }

// ClassOf is the class of an error of this package; any other error is Temporary.
func ClassOf(err error) Class {
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	return Temporary
}

// failed makes the error of an operation on rel out of what the system said.
func (t *Tree) failed(op, rel string, cause error) error {
	var e *Error
	if cause == nil || errors.As(cause, &e) {
		return cause
	}
	class, err := t.explain(cause)
	return &Error{Op: op, Path: rel, Class: class, Err: err}
}

// explain sorts a system error and says it in plain words.
func (t *Tree) explain(cause error) (Class, error) {
	var pe *fs.PathError
	if errors.As(cause, &pe) {
		cause = pe.Err
	}
	var errno syscall.Errno
	if !errors.As(cause, &errno) {
		if strings.Contains(cause.Error(), "escapes") { // what os.Root says; it exports no value to compare
			return Hopeless, fmt.Errorf("its directory is a symbolic link that leaves %q", t.dir)
		}
		return Temporary, cause
	}
	switch errno {
	case syscall.ENOSPC, syscall.EDQUOT:
		return Temporary, fmt.Errorf("disk full on %q: %w", t.dir, errno)
	case syscall.EROFS:
		return Temporary, fmt.Errorf("%q is read-only: %w", t.dir, errno)
	case syscall.EMFILE, syscall.ENFILE:
		return Temporary, fmt.Errorf("too many files are open: %w", errno)
	case syscall.ENAMETOOLONG:
		return Hopeless, fmt.Errorf("the name is too long for %q: %w", t.dir, errno)
	case syscall.ELOOP:
		return Hopeless, fmt.Errorf("its directory is a loop of symbolic links: %w", errno)
	case syscall.EISDIR:
		return Blocked, fmt.Errorf("a directory stands there: %w", errno)
	case syscall.ENOTDIR:
		return Blocked, fmt.Errorf("a file stands where its directory should be: %w", errno)
	case syscall.ENOTEMPTY, syscall.EEXIST:
		return Blocked, fmt.Errorf("the directory is not empty: %w", syscall.ENOTEMPTY)
	case syscall.EXDEV:
		return Hopeless, fmt.Errorf("the temporary file is on another filesystem: %w", errno)
	}
	return Temporary, errno
}
