package fetch

import (
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// attributes are those the job asks for.
func (j *Job) attributes() attributes {
	return attributes{mode: j.Mode.Perm(), mtime: j.Mtime, atime: j.Atime}
}

// Adjusted reports whether the file at the job's place has the mode and the modification time
// the job asks for. The access time does not count: whoever reads the file changes it.
func (j *Job) Adjusted() bool {
	d, name, err := j.Tree.locate(j.Path, false)
	if err != nil {
		return true // nothing that could be adjusted
	}
	defer d.release()
	var st unix.Stat_t
	if unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return true
	}
	return j.attributes().of(&st)
}

// of reports whether a file has these attributes.
func (a attributes) of(st *unix.Stat_t) bool {
	if a.mode != 0 && a.mode.Perm() != fs.FileMode(st.Mode).Perm() {
		return false
	}
	// Announcements have fractions of a second of any length.
	return a.mtime.IsZero() || time.Unix(st.Mtim.Unix()).Truncate(time.Microsecond).Equal(a.mtime.Truncate(time.Microsecond))
}

// adjust gives the file at p the attributes the job asks for, and returns it open, for they are
// to be made durable; or nil where it has them.
func (j *Job) adjust(p place) (*Staged, error) {
	fd, err := openat(p.d.fd, p.name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), p.name)
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = errNotRegular
	}
	if err != nil || j.attributes().of(&st) {
		f.Close()
		return nil, err
	}
	s := &Staged{tree: j.Tree, rel: j.Path, tempDir: p.d, f: f}
	if err = s.apply(j.attributes()); err != nil {
		f.Close()
		return nil, err
	}
	return s, nil
}

// closeFile closes a file that was only adjusted.
func (s *Staged) closeFile() {
	if s != nil {
		s.f.Close()
	}
}
