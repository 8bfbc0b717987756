package spool

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// fullPause is between two looks at a disk that takes nothing.
const fullPause = time.Second

// persist runs write once the disk has room, until it succeeds or ctx ends. What waits meanwhile is not
// acknowledged.
func (s *Spooler) persist(ctx context.Context, write func() error) error {
	paused := false
	for {
		err := s.room()
		if err == nil {
			err = write()
		}
		if err == nil {
			if paused {
				s.host.Log.Info("spool goes on", "directory", s.set.dir)
			}
			return nil
		}
		if !paused {
			s.host.Log.Error("spool paused, trying again", "directory", s.set.dir, "error", err)
			paused = true
		}
		select {
		case <-time.After(fullPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// room fails when less than min_free would be left on the disk.
func (s *Spooler) room() error {
	var st unix.Statfs_t
	if err := unix.Statfs(s.set.dir, &st); err != nil {
		return fmt.Errorf("cannot ask for the free space of %q: %w", s.set.dir, err)
	}
	free, least := int64(st.Bavail)*st.Bsize, s.set.minFree.Of(int64(st.Blocks)*st.Bsize)
	if free < least {
		return fmt.Errorf("%d bytes are free, less than min_free (%d)", free, least)
	}
	return nil
}
