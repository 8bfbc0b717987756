package sqlite

import (
	"context"
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"srpump/pump/broker"
)

// A gate lets one writer of the file through at a time, across processes. SQLite's
// own lock is waited for by sleeping, up to 100 ms a turn; the kernel wakes
// who waits for a flock at once.
type gate struct {
	path string
	file *os.File
}

// enter waits for the gate until ctx or closed ends. The caller holds conn.mu.
func (g *gate) enter(ctx context.Context, closed <-chan struct{}) error {
	if g.file == nil {
		f, err := os.OpenFile(g.path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		g.file = f
	}
	err := flock(g.file, unix.LOCK_EX|unix.LOCK_NB)
	if !errors.Is(err, unix.EWOULDBLOCK) {
		return err
	}
	got := make(chan error, 1)
	file := g.file
	go func() { got <- flock(file, unix.LOCK_EX) }()
	select {
	case err := <-got:
		return err
	case <-ctx.Done():
		err = ctx.Err()
	case <-closed:
		err = broker.ErrClosed
	}
	g.file = nil // left to who still waits on it; the next one opens its own
	go func() {
		<-got
		file.Close()
	}()
	return err
}

func (g *gate) leave() error { return flock(g.file, unix.LOCK_UN) }

func (g *gate) close() {
	if g.file != nil {
		g.file.Close()
	}
}

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); err != unix.EINTR {
			return err
		}
	}
}

func syncData(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); err != unix.EINTR {
			return err
		}
	}
}
