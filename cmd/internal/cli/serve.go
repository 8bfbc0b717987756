package cli

import (
	"context"
	"net"
	"path/filepath"
	"time"

	"srpump/pump/serve"
)

// A serving is a file server as a worker.
type serving struct {
	s   *session
	dir string
}

func (s *session) newServing() (*serving, error) {
	dir := s.cfg.Values.String("directory")
	switch len(s.paths) {
	case 0:
	case 1:
		dir = s.paths[0]
	default:
		return nil, usagef("one directory can be served, not %d", len(s.paths))
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(s.Env.Cwd, dir)
	}
	return &serving{s, dir}, nil
}

// Run answers HTTP requests for the files of the directory until it is told to stop.
func (w *serving) Run(ctx context.Context) error {
	h, err := serve.Handler(serve.Options{Dir: w.dir, Logger: w.s.log, Listing: true})
	if err != nil {
		return usagef("%v", err)
	}
	l, err := net.Listen("tcp", w.s.cfg.Values.String("listen"))
	if err != nil {
		return usagef("cannot listen: %v", err)
	}
	w.s.log.Info("serving", "directory", w.dir, "url", "http://"+l.Addr().String()+"/")
	w.s.pulse.ready()
	return serve.Serve(ctx, l, h, w.s.log)
}

// Ephemeral is a server without a configuration in the foreground: it keeps nothing.
func (w *serving) Ephemeral() bool { return w.s.cfg.Path == "" && w.s.instance == 0 }

// InHand is nothing: what is asked for and not answered is asked for again.
func (w *serving) InHand() (int, time.Time) { return 0, time.Time{} }

// Retries is nothing, for the same reason.
func (w *serving) Retries() int { return 0 }

// Count is empty: requests are in the log.
func (w *serving) Count() map[string]int64 { return map[string]int64{} }
