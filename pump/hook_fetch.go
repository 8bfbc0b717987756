package pump

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"srpump/pump/fetch"
	"srpump/pump/hook"
	"srpump/pump/transfer"
)

// fetchPoints are the options whose hooks take the place of a transport, in the order they are asked.
func fetchPoints() []string { return []string{hook.DoTask, hook.DoDownload, hook.DoGet} }

// source is what gets the file of j: a hook where one is for its kind of URL; else it is native, and can be asked for
// parts.
func (f *Flow) source(j *job) (g transfer.Getter, native bool) {
	raw := j.from.URL
	if j.from.Local != "" {
		raw = transfer.FileURL(j.from.Local)
	}
	scheme, _, _ := strings.Cut(raw, ":")
	_, known := f.sources[strings.ToLower(scheme)]
	for _, point := range fetchPoints() {
		if chain := f.hooks.At(point); chain.Handles(scheme, known && point != hook.DoTask, j.a) {
			return &hookSource{f, j, chain}, false
		}
	}
	return f.sources, true
}

// A hookSource gets a file by a hook, which writes it.
type hookSource struct {
	f     *Flow
	j     *job
	chain *hook.Chain
}

// fetching is the directory of what hooks are fetching.
func (f *Flow) fetching() string { return filepath.Join(f.state, "fetching") }

// Get implements transfer.Getter. What a run that was killed left is removed at the next start.
func (s *hookSource) Get(ctx context.Context, r transfer.Request) (*transfer.Body, error) {
	fail := func(class transfer.Class, err error) (*transfer.Body, error) {
		return nil, &transfer.Error{Op: "get", URL: transfer.Redact(r.URL), Class: class, Err: err}
	}
	if u, err := url.Parse(r.URL); err == nil && u.Host != "" && !s.f.allows(u.Hostname()) {
		return fail(transfer.Refused, errors.New("host is not one of allow_hosts"))
	}
	held, err := s.f.openBelow(s.j.from.Local)
	if err != nil {
		return fail(classOfOpen(err), err)
	}
	from := r.URL
	if held != nil {
		defer held.Close()
		from = transfer.FileURL(fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), held.Fd()))
	}
	if err := os.MkdirAll(s.f.fetching(), 0o700); err != nil {
		return fail(transfer.Temporary, err)
	}
	dir, err := os.MkdirTemp(s.f.fetching(), "")
	if err != nil {
		return fail(transfer.Temporary, err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "file")
	e := &hook.Event{Announcement: s.j.a.Clone(), Local: file, URL: from}
	e.Root, e.Dir, e.File = s.j.at.split()
	err = os.WriteFile(file, nil, 0o600)
	if err == nil {
		var ok bool
		if ok, err = s.chain.Run(ctx, e); !ok {
			err = undone("fetch", err)
		}
	}
	if err != nil {
		return fail(transfer.Temporary, err)
	}
	body, err := transfer.NewFile(transfer.FileOptions{}).Get(ctx, transfer.Whole(transfer.FileURL(file)))
	if err != nil {
		return fail(transfer.Temporary, err)
	}
	return body, nil
}

// openBelow opens a file of this host that a program is to read: base_dir bounds programs as it does us, and a link
// that is made meanwhile leads nowhere else, for what the program is given is the open file. It is nil where there
// is no file of this host, or no base_dir.
func (f *Flow) openBelow(file string) (*os.File, error) {
	base := f.cfg.Values.String("base_dir")
	if file == "" || base == "" {
		return nil, nil
	}
	rel, err := filepath.Rel(base, file)
	if err != nil || !filepath.IsLocal(rel) {
		return nil, errBelow
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	held, err := root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := held.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(errIrregular, err, held.Close())
	}
	return held, nil
}

var errIrregular = errors.New("it is no regular file")

// classOfOpen sorts what openBelow may fail with; a link that leads out of base_dir is no error of the system.
func classOfOpen(err error) transfer.Class {
	var errno syscall.Errno
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return transfer.NotFound
	case errors.Is(err, fs.ErrPermission):
		return transfer.Forbidden
	case errors.As(err, &errno):
		return transfer.Temporary
	}
	return transfer.Refused
}

// Close implements transfer.Getter.
func (s *hookSource) Close() error { return nil }

// onData shows the hooks a fetched file before it is installed, and takes over what they make of it. It
// reports whether to go on.
func (f *Flow) onData(ctx context.Context, j *job, s *fetch.Staged) bool {
	chain := f.hooks.At(hook.OnData)
	if chain.Empty() || s.Same {
		return true
	}
	e := &hook.Event{Announcement: j.a.Clone(), Local: s.TempPath()}
	e.Root, e.Dir, e.File = j.at.split()
	ok, err := chain.Run(ctx, e)
	if err == nil && ok {
		err = s.Reread(ctx, f.fetchJob(j, nil))
	}
	switch {
	case err != nil:
		s.Discard()
		f.failed(ctx, j, err)
	case !ok:
		s.Discard()
		f.dropped(j, hook.OnData)
	}
	return err == nil && ok
}
