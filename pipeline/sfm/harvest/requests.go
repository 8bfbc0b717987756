package harvest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"srpump/pipeline/sfm"
	"srpump/pipeline/spool"
)

// look takes in what is new in the spool.
func (s *Service) look() error {
	names, err := spool.List(filepath.Join(s.Dir, InDir))
	if err != nil {
		return err
	}
	s.again = time.Time{}
	there := make(map[string]bool, len(names))
	for _, name := range names {
		there[name] = true
		if s.files[name] || !s.settled(name) {
			continue
		}
		s.files[name] = true
		s.take(name)
	}
	for name := range s.files {
		if !there[name] {
			delete(s.files, name)
		}
	}
	return nil
}

// settled tells whether a file is whole, and notes when to look again.
func (s *Service) settled(name string) bool {
	whole, again := spool.Settled(filepath.Join(s.Dir, InDir), name, s.Now())
	if !whole && !again.IsZero() && (s.again.IsZero() || again.Before(s.again)) {
		s.again = again
	}
	return whole
}

// take takes in one file. What cannot be read is tried again later.
func (s *Service) take(name string) {
	p, err := spool.Read(filepath.Join(s.Dir, InDir), name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case errors.As(err, new(syscall.Errno)):
		s.Log.Error("request not read", "file", name, "error", err)
		delete(s.files, name)
		return
	case err != nil:
		s.reject(name, err)
		return
	}
	words := strings.Split(p.Key, ".")
	switch {
	case p.Key == "":
		s.takeNameless(name, p.Body)
	case len(words) < 2 || words[0] != "harvest": // somebody else's
	case words[1] == sfm.VerbStop:
		s.takeStop(name, p.Body)
	case words[1] == sfm.VerbStart:
		s.takeStart(name, p.Key, p.Body)
	}
}

// takeNameless takes in a file that says no routing key: a person may give one any name. A request that is
// none of ours stays where it is.
func (s *Service) takeNameless(name string, body []byte) {
	start, err := sfm.ParseStart(body)
	switch {
	case start == nil, start.Type == "":
		s.reject(name, fmt.Errorf("it has no routing key, and no type to make one of: %w", err))
	case s.Harvester.o.kind(start.Type) != nil:
		s.takeStart(name, "", body)
	}
}

// takeStart takes in a request, unless it is one that was answered already.
func (s *Service) takeStart(name, key string, body []byte) {
	start, err := sfm.ParseStart(body)
	if start == nil {
		s.reject(name, err)
		return
	}
	if t := s.tasks[start.ID]; t != nil {
		s.Log.Info("harvest asked for again", "harvest", start.ID, "file", name)
		t.files = append(t.files, name)
		return
	}
	if _, err := os.Stat(s.donePath(start.ID)); err == nil {
		s.Log.Info("harvest asked for again", "harvest", start.ID, "file", name)
		if err := discard(s.Harvester.o.dirOf(start)); err != nil { // as when it was killed at its end
			s.Log.Error("request not removed", "file", name, "error", err)
			return
		}
		s.remove(name)
		return
	}
	t := &task{id: start.ID, key: key, body: body, files: []string{name}, stop: make(chan struct{})}
	kind := s.Harvester.o.kind(start.Type)
	if t.place = start.ID; kind != nil {
		t.stream, t.place = kind.Stream, kind.Module+" "+s.Harvester.o.local(start.Path)
	}
	s.tasks[t.id] = t
}

// takeStop stops a harvest. Its file stays until the harvest has ended.
func (s *Service) takeStop(name string, body []byte) {
	stop, err := sfm.ParseStop(body)
	if err != nil {
		s.reject(name, err)
		return
	}
	t := s.tasks[stop.ID]
	if t == nil {
		s.Log.Info("no such harvest to stop", "harvest", stop.ID)
		s.remove(name)
		return
	}
	t.files = append(t.files, name)
	s.Log.Info("harvest told to stop", "harvest", stop.ID)
	if !t.stopped {
		t.stopped = true
		close(t.stop)
	}
}

// reject moves what is no request out of the way, with the reason beside it.
func (s *Service) reject(name string, why error) {
	s.Log.Error("request set aside", "file", name, "error", why)
	delete(s.files, name)
	if err := spool.SetAside(filepath.Join(s.Dir, InDir), name, filepath.Join(s.Dir, failedDir), why); err != nil {
		s.Log.Error("request not removed", "file", name, "error", err)
	}
}

func (s *Service) donePath(id string) string {
	return filepath.Join(s.Dir, doneDir, dirName(id)+".json")
}

// remember notes that a harvest has ended, for good, before its request is removed: should the request
// come again, it is not done again.
func (s *Service) remember(id string, o Outcome) error {
	done := struct {
		ID     string   `json:"id"`
		Status string   `json:"status"`
		Ended  sfm.Time `json:"date_ended"`
	}{id, o.status(), sfm.At(s.Now())}
	if err := replaceJSON(s.donePath(id), done); err != nil {
		return &PersistError{err}
	}
	return nil
}
