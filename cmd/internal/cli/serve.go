package cli

import (
	"context"
	"net"

	"srpump/pump/serve"
)

// serve answers HTTP requests for the files of one directory until it is told to stop.
func (s *session) serve(ctx context.Context) error {
	dir := s.Env.Cwd
	switch len(s.paths) {
	case 0:
	case 1:
		dir = s.paths[0]
	default:
		return usagef("one directory can be served, not %d", len(s.paths))
	}
	h, err := serve.Handler(serve.Options{Dir: dir, Logger: s.log, Listing: true})
	if err != nil {
		return usagef("%v", err)
	}
	l, err := net.Listen("tcp", s.cfg.Values.String("listen"))
	if err != nil {
		return usagef("cannot listen: %v", err)
	}
	s.log.Info("serving", "directory", dir, "url", "http://"+l.Addr().String()+"/")
	return serve.Serve(ctx, l, h, s.log)
}
