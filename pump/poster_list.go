package pump

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"srpump/post/watch"
)

// An entry is a path to announce; a nil info is one that is gone.
type entry struct {
	path  string
	info  fs.FileInfo
	other string // of what was moved or linked: the new name of what is gone, the old name of what is there
	dir   bool   // a directory is gone
}

// errNoPath is a poster that is not told what to announce.
var errNoPath = errors.New("nothing to announce: name files or directories, or - for a list on standard input")

// CheckPaths fails when the configuration and the command line name nothing to announce.
func (p *Poster) CheckPaths() error {
	if len(p.cfg.Values.List("path")) == 0 {
		return errNoPath
	}
	return nil
}

// list calls fn for what each name stands for, and returns the names it did not come to the
// end of.
func (p *Poster) list(ctx context.Context, paths []string, fn func(entry) error) (rest []string, err error) {
	for i, name := range paths {
		if name == "-" {
			err = p.listInput(ctx, fn)
		} else {
			err = p.listTree(ctx, name, fn)
		}
		if err != nil {
			return paths[i:], err
		}
	}
	return nil, nil
}

// listInput reads names, one a line or ended by NUL. A read that blocks outlives ctx, as
// standard input cannot be woken.
func (p *Poster) listInput(ctx context.Context, fn func(entry) error) error {
	if p.host.Stdin == nil {
		return errors.New("cannot read names: there is no standard input")
	}
	names, ended := make(chan string), make(chan error, 1)
	go func() { ended <- p.readNames(ctx, names) }()
	for {
		select {
		case name := <-names:
			if err := p.listTree(ctx, name, fn); err != nil {
				return err
			}
		case err := <-ended:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (p *Poster) readNames(ctx context.Context, names chan<- string) error {
	sc := bufio.NewScanner(p.host.Stdin)
	sc.Buffer(make([]byte, 64<<10), 1<<20)
	if p.cfg.Values.Bool("null_input") {
		sc.Split(splitNUL)
	}
	for sc.Scan() {
		if sc.Text() == "" {
			continue
		}
		select {
		case names <- sc.Text():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := sc.Err(); err != nil {
		return fmt.Errorf("cannot read names from standard input: %w", err)
	}
	return nil
}

func splitNUL(data []byte, atEOF bool) (int, []byte, error) {
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

// listTree lists one name. A name that is not there is the announcement of a removal.
func (p *Poster) listTree(ctx context.Context, name string, fn func(entry) error) error {
	root := p.entered(name)
	var missing bool
	err := watch.Walk(ctx, []string{root}, watch.WalkOptions{NeedInfo: true, Follow: p.cfg.Values.Bool("follow_symlinks"), Fault: func(path string, err error) {
		if path == root && errors.Is(err, fs.ErrNotExist) {
			missing = true
			return
		}
		p.failed(path, err)
	}}, func(path string, info fs.FileInfo) error { return fn(entry{path: path, info: info}) })
	if err == nil && missing {
		err = fn(entry{path: root})
	}
	return err
}

// entered is the path a name stands for, with a slash after it where a link is to be entered: one named so, and
// post_base_dir itself, which is nothing that could be announced.
func (p *Poster) entered(name string) string {
	path := p.named(name)
	if !strings.HasSuffix(name, "/") && path != filepath.Clean(p.maker.BaseDir) {
		return path
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return path
	}
	return strings.TrimSuffix(path, "/") + "/"
}

// named is the path a name stands for, with realpath_post without symbolic links; what is not there has none.
func (p *Poster) named(name string) string {
	path := p.absolute(name)
	if p.cfg.Values.Bool("realpath_post") {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return real
		}
	}
	return path
}

// absolute makes a name absolute: below post_base_dir, or below the working directory when
// it is there and not below post_base_dir.
func (p *Poster) absolute(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	here := filepath.Join(p.host.Cwd, name)
	if p.maker.BaseDir == "" {
		return here
	}
	below := filepath.Join(p.maker.BaseDir, name)
	if _, err := os.Lstat(below); err == nil {
		return below
	}
	if _, err := os.Lstat(here); err == nil {
		return here
	}
	return below
}
