package hook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// pipeLine is the longest line a pipe takes as a whole or not at all (pipe(7), PIPE_BUF).
const pipeLine = 4096

// A rxPipe writes the paths of received files to a named pipe, a line each. Who does not read misses
// them: nothing waits for a reader.
type rxPipe struct {
	path string
	log  *slog.Logger

	mu     sync.Mutex
	fd     int // -1 when it is not open
	missed int // since the last that was read
}

func newPipe(env Env) (Hook, error) {
	path := env.Own.String("file_rxpipe_name")
	if !filepath.IsAbs(path) {
		path = filepath.Join(env.Dir, path)
	}
	return &rxPipe{path: path, log: env.Log, fd: -1}, nil
}

// Run writes one path.
func (p *rxPipe) Run(_ context.Context, e *Event) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if strings.ContainsRune(e.Local, '\n') || len(e.Local) >= pipeLine {
		p.log.Warn("not written to the pipe", "path", e.Local, "pipe", p.path, "error", "the path is no line of a pipe")
		return true, nil
	}
	err := p.write(e.Local + "\n")
	if errors.Is(err, unix.EPIPE) { // the reader has gone, and another may have come
		p.close()
		err = p.write(e.Local + "\n")
	}
	switch {
	case err == nil && p.missed > 0:
		p.log.Info("pipe is read again", "pipe", p.path, "missed", p.missed)
		p.missed = 0
	case err != nil:
		if p.missed++; p.missed == 1 {
			p.log.Warn("not written to the pipe", "path", e.Local, "pipe", p.path, "error", reason(err))
		}
	}
	return true, nil
}

func reason(err error) error {
	switch {
	case errors.Is(err, unix.ENXIO), errors.Is(err, unix.EPIPE):
		return errors.New("nobody reads it")
	case errors.Is(err, unix.EAGAIN):
		return errors.New("it is full")
	}
	return err
}

// write writes a line as a whole, or nothing of it.
func (p *rxPipe) write(line string) error {
	if err := p.open(); err != nil {
		return err
	}
	for {
		_, err := unix.Write(p.fd, []byte(line))
		if err != unix.EINTR {
			return err
		}
	}
}

// open opens the pipe for writing, which it is only while somebody reads.
func (p *rxPipe) open() error {
	if p.fd >= 0 {
		return nil
	}
	if err := unix.Mkfifo(p.path, 0o666); err != nil && err != unix.EEXIST {
		return fmt.Errorf("cannot make %q: %w", p.path, err)
	}
	fd, err := unix.Open(p.path, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("cannot open %q: %w", p.path, err)
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFIFO {
		err = fmt.Errorf("%q is not a named pipe", p.path)
	}
	if err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	p.fd = fd
	return nil
}

func (p *rxPipe) close() {
	if p.fd >= 0 {
		_ = unix.Close(p.fd) // nothing is written late
	}
	p.fd = -1
}

// Close lets readers see the end.
func (p *rxPipe) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.close()
	return nil
}
