package sqlite

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"srpump/pump/broker"
)

// A session is this connection as other processes see it. Whoever opens its
// bell for writing gets through while it lives and ENXIO after its death.
type session struct {
	id   int64
	name string // of the bell, in the database's directory
	bell *os.File
}

// here is this connection's session, begun when first needed.
func (c *conn) here(ctx context.Context) (*session, error) {
	c.members.Lock()
	defer c.members.Unlock()
	if c.isClosing() {
		return nil, broker.ErrClosed
	}
	if c.session != nil {
		return c.session, nil
	}
	s, err := c.beginSession(ctx)
	if err != nil {
		return nil, err
	}
	c.session = s
	c.self.Store(s.id)
	c.work.Go(s.listen(c))
	return s, nil
}

func (c *conn) beginSession(ctx context.Context) (*session, error) {
	s, err := newBell(c.path + ".d")
	if err != nil {
		return nil, unusable(c.path, err)
	}
	err = c.write(ctx, func(tx *tx) (err error) {
		// Who sweeps holds the gate too, and spares bells that are read.
		s.id, err = tx.insert("INSERT INTO session(bell, name) VALUES(?,?)", s.name, c.options.Name)
		return err
	})
	if err != nil {
		s.bell.Close()
		os.Remove(filepath.Join(c.path+".d", s.name))
		return nil, err
	}
	return s, nil
}

// newBell makes a FIFO that is read from before it has its final name, so that none
// is ever seen dead while its owner lives.
func newBell(dir string) (*session, error) {
	var b [8]byte
	rand.Read(b[:])
	s := &session{name: hex.EncodeToString(b[:]) + ".bell"}
	path := filepath.Join(dir, s.name)
	if err := unix.Mkfifo(path+".new", 0o600); err != nil {
		return nil, fmt.Errorf("cannot make %q: %w", path, err)
	}
	f, err := os.OpenFile(path+".new", os.O_RDWR|unix.O_NONBLOCK, 0)
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		os.Remove(path + ".new")
		return nil, err
	}
	s.bell = f
	return s, nil
}

// listen wakes the consumers of the connection whenever the bell rings, until it is closed.
func (s *session) listen(c *conn) func() {
	return func() {
		buf := make([]byte, 512)
		stop := context.AfterFunc(c.life, func() { s.bell.SetReadDeadline(time.Unix(1, 0)) })
		defer stop()
		for {
			if _, err := s.bell.Read(buf); err != nil {
				return
			}
			c.wakeConsumers()
		}
	}
}

func (c *conn) wakeConsumers() {
	for _, k := range c.memberConsumers() {
		k.rouse()
	}
}

// farewell bounds what closing waits for others: the bell falls silent in any
// case, and then someone else gives everything back.
const farewell = 5 * time.Second

// endSession gives everything back that is this connection's.
func (c *conn) endSession() error {
	if c.session == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	err := c.writeUntil(ctx, nil, func(tx *tx) error {
		return c.bury(tx, c.session.id, c.session.name)
	})
	c.session.bell.Close()
	return err
}

// alive tells whether someone reads the bell of that name.
func alive(dir, name string) bool {
	fd, err := openBell(dir, name)
	if err == nil {
		unix.Close(fd)
	}
	return !errors.Is(err, unix.ENXIO) && !errors.Is(err, unix.ENOENT)
}

func openBell(dir, name string) (int, error) {
	for {
		fd, err := unix.Open(filepath.Join(dir, name), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}
