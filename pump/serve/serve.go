// Package serve is a plain static file server over HTTP: enough to publish a
// directory to a pump where nothing else is installed (sr_serve(1)).
//
//	Handler   files and listings of one directory, nothing outside it
//	Serve     runs a handler until told to stop, with limits on slow clients
package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"mime"
	"net/http"
	"os"
	"path"
	"strings"
	"syscall"
)

// Options are what an operator decides about a server.
type Options struct {
	Dir     string
	Listing bool         // show directories; else they are not found
	Logger  *slog.Logger // phrases "served" (debug) and "not served"; nil: silent
}

// handler serves the files of one directory.
type handler struct {
	root    *os.Root
	listing bool
	log     *slog.Logger
}

// Handler serves the regular files below a directory: GET and HEAD, ranges,
// conditions by ETag and date. A path with an element that begins with a dot,
// a link that leaves the directory, a pipe or a device is not found.
func Handler(o Options) (http.Handler, error) {
	root, err := os.OpenRoot(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("cannot serve %q: %w", o.Dir, errors.Unwrap(err))
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &handler{root, o.Listing, o.Logger}, nil
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	if err := h.serve(w, r); err != nil {
		h.log.Warn("not served", "path", r.URL.Path, "error", err)
		status := statusOf(err)
		http.Error(w, http.StatusText(status), status)
		return
	}
	h.log.Debug("served", "path", r.URL.Path)
}

// serve answers, or returns an error before anything is written.
func (h *handler) serve(w http.ResponseWriter, r *http.Request) error {
	rel, err := relative(r.URL.Path)
	if err != nil {
		return err
	}
	// Without O_NONBLOCK the opening of a pipe would wait for its writer.
	f, err := h.root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	slash := strings.HasSuffix(r.URL.Path, "/")
	switch {
	case fi.IsDir() && h.listing && slash:
		return h.list(w, r, f)
	case fi.IsDir() && h.listing:
		w.Header().Set("Location", link(path.Base(rel)+"/"))
		w.WriteHeader(http.StatusMovedPermanently)
		return nil
	case !fi.Mode().IsRegular() || slash:
		return fmt.Errorf("%w: not a regular file", fs.ErrNotExist)
	}
	w.Header().Set("ETag", etag(fi))
	w.Header().Set("Content-Type", contentType(rel))
	http.ServeContent(w, r, "", fi.ModTime(), f)
	return nil
}

// relative is the path below the directory, "." for itself. Hidden names and
// what is no plain path are not found.
func relative(p string) (string, error) {
	rel := strings.TrimSuffix(strings.TrimPrefix(p, "/"), "/")
	if rel == "" {
		return ".", nil
	}
	for e := range strings.SplitSeq(rel, "/") {
		if e == "" || e[0] == '.' || strings.IndexByte(e, 0) >= 0 {
			return "", fmt.Errorf("%w: hidden or not a plain path", fs.ErrNotExist)
		}
	}
	return rel, nil
}

// statusOf hides why a file is not given, except for the lack of permission and of resources.
func statusOf(err error) int {
	var errno syscall.Errno
	switch {
	case errors.Is(err, fs.ErrPermission):
		return http.StatusForbidden
	case errors.As(err, &errno) && (errno == syscall.EMFILE || errno == syscall.ENFILE || errno == syscall.EIO || errno == syscall.ENOMEM):
		return http.StatusServiceUnavailable
	}
	return http.StatusNotFound
}

// etag changes with every change a stat can see; replacing a file by rename changes the inode.
func etag(fi fs.FileInfo) string {
	var ino uint64
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		ino = st.Ino
	}
	return fmt.Sprintf(`"%x-%x-%x"`, fi.Size(), fi.ModTime().UnixNano(), ino)
}

// contentType goes by the name alone; reading the file to guess would cost every answer.
func contentType(name string) string {
	if t := mime.TypeByExtension(path.Ext(name)); t != "" {
		return t
	}
	return "application/octet-stream"
}
