package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"srpump/pump/config"
)

// ErrBusy is what Take fails with when another process holds the seat.
var ErrBusy = errors.New("its state directory is in use")

// A Busy is ErrBusy with who holds the seat.
type Busy struct {
	Holder Holder
	Dir    string
}

func (b *Busy) Error() string {
	return fmt.Sprintf("%v by process %d (%s)", ErrBusy, b.Holder.PID, b.Dir)
}

// Is makes errors.Is(err, ErrBusy) true.
func (b *Busy) Is(target error) bool { return target == ErrBusy }

// A Holder is the process that runs a configuration.
type Holder struct {
	PID      int
	Start    uint64 // when it began, in ticks since the host did: with it, a number is not taken for its next bearer
	Instance int    // 0 in the foreground, 1 when it was started
}

// A Lock is a seat that is taken. The kernel frees it when the process ends, however it ends.
type Lock struct{ file *os.File }

// Release frees the seat.
func (l *Lock) Release() error { return l.file.Close() }

func lockPath(st config.State) string { return filepath.Join(st.Dir(), "instance.lock") }

// whole is the lock on a whole file. It belongs to the open file, not to the process, and it
// can be asked about without being taken, which a flock cannot: a look at the seat must never be
// in the way of a process that wants it.
func whole() *unix.Flock_t { return &unix.Flock_t{Type: unix.F_WRLCK} }

// Take takes the seat for this process, or fails with a *Busy. The directory is made.
func Take(st config.State, instance int) (*Lock, error) {
	if err := os.MkdirAll(st.Dir(), 0o775); err != nil {
		return nil, fmt.Errorf("cannot keep state: %w", err)
	}
	f, err := os.OpenFile(lockPath(st), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot keep state: %w", err)
	}
	for held := true; held; {
		if held, err = occupy(f); !held {
			break
		}
		if h, there := describedBy(f); there {
			f.Close()
			return nil, &Busy{h, st.Dir()}
		}
	}
	if err == nil {
		err = describe(f, instance)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("cannot keep state: %w", err)
	}
	return &Lock{f}, nil
}

// occupy locks the whole file, or reports that another has.
func occupy(f *os.File) (held bool, err error) {
	err = unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, whole())
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return true, nil
	}
	return false, err
}

// whileFree does something that must not be done to a seat that is taken, and keeps it free for so
// long. It does nothing when somebody has it, or when there is no state at all.
func whileFree(st config.State, do func() error) error {
	f, err := os.OpenFile(lockPath(st), os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot keep state: %w", err)
	}
	defer f.Close()
	if held, err := occupy(f); held || err != nil {
		return err
	}
	return do()
}

// describe writes who holds the lock: one line, in one write.
func describe(f *os.File, instance int) error {
	start, err := startTime(os.Getpid())
	if err != nil {
		return err
	}
	line := fmt.Sprintf("%d %d %d\n", os.Getpid(), start, instance)
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(line), 0)
	return err
}

// describeLimit is how long a holder may take from its lock to its description.
const describeLimit = time.Second

// describedBy reads the description; the holder may be about to write it. A seat that is free by now
// is nobody's: there is not true.
func describedBy(f *os.File) (h Holder, there bool) {
	b := make([]byte, 64)
	for end := time.Now().Add(describeLimit); time.Now().Before(end); time.Sleep(time.Millisecond) {
		n, _ := f.ReadAt(b, 0)
		if line, _, ok := bytes.Cut(b[:n], []byte("\n")); ok {
			if k, _ := fmt.Sscan(string(line), &h.PID, &h.Start, &h.Instance); k == 3 && h.alive() {
				return h, true
			}
		}
		lock := whole()
		if unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, lock) == nil && lock.Type == unix.F_UNLCK {
			return Holder{}, false
		}
	}
	return Holder{}, true
}

// Find returns who holds the seat, if anybody does. A look costs the holder nothing.
func Find(st config.State) (h Holder, held bool, err error) {
	f, err := os.Open(lockPath(st))
	if errors.Is(err, fs.ErrNotExist) {
		return Holder{}, false, nil
	}
	if err != nil {
		return Holder{}, false, fmt.Errorf("cannot look at state: %w", err)
	}
	defer f.Close()
	lock := whole()
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, lock); err != nil {
		return Holder{}, false, fmt.Errorf("cannot look at %q: %w", f.Name(), err)
	}
	if lock.Type == unix.F_UNLCK {
		return Holder{}, false, nil
	}
	h, held = describedBy(f)
	return h, held, nil
}
