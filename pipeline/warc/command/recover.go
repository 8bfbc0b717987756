package command

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"srpump/pipeline/warc"
)

// A mending is warc recover.
type mending struct {
	*run
	dry bool
	to  string
}

func recoverVerb(fs *flag.FlagSet) func(*run) error {
	m := &mending{}
	fs.BoolVar(&m.dry, "n", false, "say what would be done, and do nothing")
	fs.StringVar(&m.to, "o", "", "leave the file and copy what is whole to this `file`, which must not exist")
	return func(r *run) error {
		m.run = r
		if m.to != "" && len(r.args) > 1 {
			return mistake{errors.New("-o goes with one file"), "warc recover [-n] [-o file] file ..."}
		}
		return m.all()
	}
}

func (m *mending) all() error {
	bad := 0
	for _, name := range m.args {
		if err := m.file(name); err != nil {
			bad++
			m.warn(err)
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d files not recovered", bad, len(m.args))
	}
	return nil
}

func (m *mending) file(name string) error {
	mode := os.O_RDWR
	if m.dry || m.to != "" {
		mode = os.O_RDONLY
	}
	f, err := os.OpenFile(name, mode, 0)
	if err != nil {
		return fmt.Errorf("cannot recover %q: %w", name, cause(err))
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fmt.Errorf("cannot recover %q: another process has it locked", name)
	}
	var got warc.Recovery
	if m.to != "" {
		got, err = m.copy(f)
	} else {
		got, err = warc.Truncate(f, warc.ReadOptions{}, m.dry)
	}
	if err != nil {
		return fmt.Errorf("cannot recover %q: %w", name, cause(err))
	}
	_, err = fmt.Fprintf(m.out, "%s: kept %s, %s; dropped %s; %d damaged\n", printable(name), count(got.Kept, "record", "records"),
		count(got.KeptBytes, "byte", "bytes"), count(got.DroppedBytes, "byte", "bytes"), got.Damaged)
	return err
}

// target finds out whether a copy can be made under its name.
func (m *mending) target() error {
	_, err := os.Lstat(m.to)
	if err == nil {
		return fmt.Errorf("cannot make %q: the file exists", m.to)
	}
	dir := filepath.Dir(m.to)
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("cannot make %q: %q: %w", m.to, dir, cause(err))
	}
	return nil
}

// copy writes under a temporary name, and gives the file its own when it is on the disk.
func (m *mending) copy(f *os.File) (got warc.Recovery, err error) {
	if err := m.target(); err != nil {
		return got, err
	}
	if m.dry {
		return warc.Copy(io.Discard, f, warc.ReadOptions{})
	}
	out, err := os.CreateTemp(filepath.Dir(m.to), "."+filepath.Base(m.to)+".*")
	if err != nil {
		return got, fmt.Errorf("cannot make %q: %w", m.to, cause(err))
	}
	defer os.Remove(out.Name())
	defer out.Close()
	if got, err = warc.Copy(out, f, warc.ReadOptions{}); err != nil {
		return got, err
	}
	info, err := f.Stat()
	if err == nil {
		err = errors.Join(out.Chmod(info.Mode().Perm()), out.Sync())
	}
	if err == nil {
		err = os.Link(out.Name(), m.to) // and not rename, which would replace
	}
	if err == nil {
		err = syncDir(filepath.Dir(m.to))
	}
	return got, err
}

func syncDir(name string) error {
	dir, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
