package fetch

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"srpump/post"
	"srpump/pump/transfer"
)

// A Job is one file to fetch.
type Job struct {
	Source  transfer.Getter
	Request transfer.Request

	Tree     *Tree
	Path     string // destination below the tree, as post.Within gives it
	Inflight Inflight
	Tag      string // tells this flow's temporary files from others'; any text, the same at every run

	Size    int64  // announced, in bytes; below zero: not known
	MaxSize int64  // more is refused; 0: no limit
	Limit   string // what MaxSize comes from, for people
	Sum     post.Fingerprint

	// Mode, Mtime and Atime are given to the file. Only the permission bits
	// of Mode are used: an announcement cannot make a program setuid.
	Mode         fs.FileMode
	Mtime, Atime time.Time

	Moved *atomic.Int64 // where set, counts the bytes as they come

	Here *atomic.Int64 // where set, how many bytes of the file are here

	// Resuming, where set, is told when an interrupted fetch goes on, of which so many bytes are here.
	Resuming func(here, of int64)

	Pace *Pace // holds back what is copied; nil: as fast as it comes

	// Named gives the file a name before it is installed, for programs that are to change it.
	Named bool

	KeepSum bool // the file keeps its checksum in its extended attributes

	Partials *Partials // from which interrupted fetches go on; nil: each starts again

	Names *Names // of temporary files; nil: they are not remembered

	HardLink bool // a source on this host becomes a second name of the same file, when it can
}

// Fetch gets the bytes, verifies them and leaves them under a temporary name.
// It fails with an *Error for what happened here and a *transfer.Error for
// what happened at the source. Bytes that are complete but not what was
// announced are no failure: Match is false, and the caller decides (it may
// fetch again, with Size below zero when the source has grown).
func Fetch(ctx context.Context, j Job) (*Staged, error) {
	if _, _, err := j.Tree.split(j.Path); err != nil {
		return nil, err
	}
	j.Tree.pending.Add(1)
	s, err := j.fetch(ctx)
	if err != nil {
		j.Tree.pending.Add(-1)
		return nil, err
	}
	s.counted = true
	return s, nil
}

func (j *Job) fetch(ctx context.Context) (*Staged, error) {
	if s, err := j.resume(ctx); s != nil || err != nil {
		return s, err
	}
	body, err := j.Source.Get(ctx, j.Request)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	if err := j.tooBig(body.Size); err != nil {
		return nil, err
	}
	if body.File != nil && j.isSource(body.File) {
		return &Staged{tree: j.Tree, rel: j.Path, Same: true, Match: true, Size: body.Size, Validator: body.Validator}, nil
	}
	keep := j.Partials.keeps(j, body)
	s, err := j.Tree.stage(j.Path, j.Inflight, j.Tag, j.createMode(), j.HardLink || j.Named || keep)
	if err != nil {
		return nil, err
	}
	s.Validator = body.Validator
	if keep {
		s.marks = j.newMarks(s, body.Size, body.Validator, j.method())
		s.marks.begin()
	} else {
		j.Names.add(s)
	}
	if err := j.fill(ctx, s, body); err != nil {
		j.abandon(s, err)
		return nil, err
	}
	return s, nil
}

// fill gives the staged file its bytes, sum and attributes.
func (j *Job) fill(ctx context.Context, s *Staged, body *transfer.Body) (err error) {
	method := j.method()
	linked := false
	if body.File != nil {
		linked, err = j.fromFile(ctx, s, body, method)
	} else {
		s.Size, s.Sum, err = j.copyBody(s, body.Size, j.Pace.Reader(ctx, body), method)
	}
	if err != nil {
		return err
	}
	s.Match = j.matches(s)
	if linked {
		return nil // the attributes are the source's own
	}
	if err := j.steady(ctx, s, body.Validator); err != nil {
		return err
	}
	return j.finish(s)
}

// matches reports whether size and sum are those announced.
func (j *Job) matches(s *Staged) bool {
	return (j.Size < 0 || s.Size == j.Size) && (!j.Sum.Verifiable() || s.Sum.Equal(j.Sum))
}

// finish gives the staged file, whose bytes are complete, its attributes.
func (j *Job) finish(s *Staged) error {
	if err := s.apply(j.attributes()); err != nil || !j.KeepSum {
		return err
	}
	sum := s.Sum
	if j.Sum.Method == post.SumGiven && s.Match {
		sum = j.Sum
	}
	post.KeepNewSum(s.f, sum)
	return nil
}

// method is the checksum to compute, or "" when nobody would look at it.
func (j *Job) method() string {
	if j.Sum.Verifiable() || j.Sum.Method == post.SumLater || j.Sum.Method == "" {
		return j.Sum.HashMethod()
	}
	return ""
}

// createMode keeps a file private until it is complete when its mode is announced.
func (j *Job) createMode() fs.FileMode {
	if j.Mode.Perm() != 0 {
		return 0o600
	}
	return 0o666
}

// limit is the number of bytes after which reading stops, or -1.
func (j *Job) limit() int64 {
	switch {
	case j.Size >= 0 && j.MaxSize > 0:
		return min(j.Size, j.MaxSize)
	case j.MaxSize > 0:
		return j.MaxSize
	}
	return j.Size
}

// tooBig refuses n bytes when they are more than announced or allowed.
func (j *Job) tooBig(n int64) error {
	if l := j.limit(); l < 0 || n <= l {
		return nil
	}
	if j.MaxSize > 0 && n > j.MaxSize {
		return &Error{"write", j.Path, Oversize, fmt.Errorf("the source holds more than the %d bytes allowed by %s", j.MaxSize, j.Limit)}
	}
	return &Error{"write", j.Path, Oversize, fmt.Errorf("the source holds more than the announced %d bytes", j.Size)}
}

// isSource reports whether the destination is the source file itself, under this or another name.
func (j *Job) isSource(src *os.File) bool {
	d, name, err := j.Tree.locate(j.Path, false)
	if err != nil {
		return false
	}
	defer d.release()
	var a, b unix.Stat_t
	return unix.Fstat(int(src.Fd()), &a) == nil && unix.Fstatat(d.fd, name, &b, unix.AT_SYMLINK_NOFOLLOW) == nil &&
		a.Dev == b.Dev && a.Ino == b.Ino
}
