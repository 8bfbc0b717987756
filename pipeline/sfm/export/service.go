package export

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	"srpump/pipeline/sfm"
	"srpump/pipeline/spool"
)

// The directories of a spool; sfm_harvest can have the same one.
const (
	InDir     = "in"       // what sr_spool in brings
	OutDir    = "out"      // what sr_spool out takes
	Records   = "exported" // how exports have ended
	failedDir = "failed"   // of what is no request
)

const (
	relook   = 5 * time.Second // without anything having been noticed in the spool
	failWait = time.Minute     // before what could not be kept is tried again
	// keepRecords is how long it is known how an export has ended, should its request come again.
	keepRecords = 90 * 24 * time.Hour
)

// A Service makes the exports that are asked for in a spool, one after the other: each uses all
// processors. It is used by one goroutine.
type Service struct {
	Dir      string
	Exporter *Exporter
	Log      *slog.Logger
	Now      func() time.Time

	later map[string]time.Time // by file name: not before
}

// A request is a file of the spool that asks for an export.
type request struct {
	name, key string
	body      []byte
}

// Run works until ctx ends. The export at hand is then given up, and made anew by the next Run.
func (s *Service) Run(ctx context.Context) error {
	a, err := spool.Attend(s.Dir, "sfm_export", InDir, OutDir, Records, failedDir)
	if err != nil {
		return err
	}
	defer a.Close()
	if err := spool.ForgetBefore(filepath.Join(s.Dir, Records), ".json", s.Now().Add(-keepRecords)); err != nil {
		return fmt.Errorf("cannot clear the spool: %w", err)
	}
	s.later = map[string]time.Time{}
	s.Log.Info("serving", "directory", s.Dir)
	return s.serve(ctx, a.Changes)
}

// serve looks at the spool whenever something has happened.
func (s *Service) serve(ctx context.Context, changes *fsnotify.Watcher) error {
	timer := time.NewTimer(relook)
	defer timer.Stop()
	for ctx.Err() == nil {
		r, err := s.next()
		if err != nil {
			return err
		}
		if r != nil {
			s.answer(ctx, r)
			continue
		}
		timer.Reset(s.wait())
		select {
		case <-changes.Events:
		case <-changes.Errors: // some were lost, and so all is looked at
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return nil
}

// wait is how long nothing is to be done unless something happens.
func (s *Service) wait() time.Duration {
	d := relook
	for _, at := range s.later {
		d = min(d, max(0, at.Sub(s.Now())))
	}
	return d
}

// next is the request to be answered next: those with priority first, then as they came; nil when
// there is none.
func (s *Service) next() (first *request, err error) {
	names, err := spool.List(filepath.Join(s.Dir, InDir))
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, name := range names {
		there[name] = true
		if s.later[name].After(s.Now()) || !s.settled(name) {
			continue
		}
		delete(s.later, name)
		r := s.read(name)
		if r != nil && (first == nil || priority(r.key) && !priority(first.key)) {
			first = r
		}
	}
	for name := range s.later {
		if !there[name] {
			delete(s.later, name)
		}
	}
	return first, nil
}

func priority(key string) bool {
	k, ok := sfm.ParseKey(key)
	return ok && k.Priority
}

// settled tells whether a file is whole, and notes when to look again.
func (s *Service) settled(name string) bool {
	whole, again := spool.Settled(filepath.Join(s.Dir, InDir), name, s.Now())
	if !whole && !again.IsZero() {
		s.later[name] = again
	}
	return whole
}

// read reads one file; nil when it is somebody else's, or cannot be read now.
func (s *Service) read(name string) *request {
	p, err := spool.Read(filepath.Join(s.Dir, InDir), name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.As(err, new(syscall.Errno)):
		s.Log.Error("request not read", "file", name, "error", err)
		s.later[name] = s.Now().Add(failWait)
		return nil
	case err != nil:
		s.reject(name, err)
		return nil
	}
	k, ok := sfm.ParseKey(p.Key)
	if ok && (k.Kind != "export" || k.Verb != sfm.VerbStart) {
		return nil
	}
	start, err := sfm.ParseExportStart(p.Body)
	switch {
	case start == nil && !ok, !ok && start.Format == "": // a person may give a file any name; this is none of ours
		return nil
	case start == nil, start.ID == "": // there is nobody to answer
		s.reject(name, err)
		return nil
	case !ok:
		p.Key = ""
	}
	return &request{name, p.Key, p.Body}
}

// answer makes an export, and removes its request.
func (s *Service) answer(ctx context.Context, r *request) {
	outcome, err := s.Exporter.Run(ctx, Job{Body: r.body, Key: r.key})
	switch {
	case err != nil:
		s.Log.Error("export put off", "file", r.name, "error", err)
		s.later[r.name] = s.Now().Add(failWait)
	case outcome == Stopped:
	default:
		if err := spool.Remove(filepath.Join(s.Dir, InDir), r.name); err != nil {
			s.Log.Error("request not removed", "file", r.name, "error", err)
			s.later[r.name] = s.Now().Add(failWait)
		}
	}
}

// reject moves what is no request out of the way, with the reason beside it.
func (s *Service) reject(name string, why error) {
	s.Log.Error("request set aside", "file", name, "error", why)
	if err := spool.SetAside(filepath.Join(s.Dir, InDir), name, filepath.Join(s.Dir, failedDir), why); err != nil {
		s.Log.Error("request not removed", "file", name, "error", err)
		s.later[name] = s.Now().Add(failWait)
	}
}
