package harvest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
		if err := s.take(name); err != nil {
			return err
		}
	}
	for name := range s.files {
		if !there[name] {
			delete(s.files, name)
		}
	}
	return nil
}

// settled tells whether a file is whole: those with a meta are, all others when nobody has written to
// them for a while.
func (s *Service) settled(name string) bool {
	path := filepath.Join(s.Dir, InDir, name)
	if _, err := os.Lstat(path + ".meta"); err == nil {
		return true
	}
	info, err := os.Lstat(path)
	if err != nil {
		return false
	}
	now := s.Now()
	at := info.ModTime().Add(settle)
	if !at.After(now) || info.ModTime().After(now.Add(settle)) { // or the clock went back
		return true
	}
	if s.again.IsZero() || at.Before(s.again) {
		s.again = at
	}
	return false
}

// take takes in one file.
func (s *Service) take(name string) error {
	p, err := spool.Read(filepath.Join(s.Dir, InDir), name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return s.reject(name, err)
	}
	k, ok := sfm.ParseKey(p.Key)
	switch {
	case ok && k.Kind == "harvest" && k.Verb == sfm.VerbStop:
		return s.takeStop(name, p.Body)
	case ok && k.Kind == "harvest" && k.Verb == sfm.VerbStart:
		return s.takeStart(name, p.Key, p.Body)
	case p.Key != "" && ok: // somebody else's
		return nil
	}
	// A person may give a file any name; what is none of ours stays where it is.
	start, _ := sfm.ParseStart(p.Body)
	if start == nil {
		return s.reject(name, errors.New("it is no harvest start message, and its name has no routing key"))
	}
	if s.Harvester.o.kind(start.Type) == nil {
		return nil
	}
	return s.takeStart(name, "", p.Body)
}

// takeStart takes in a request, unless it is one that was answered already.
func (s *Service) takeStart(name, key string, body []byte) error {
	start, err := sfm.ParseStart(body)
	if start == nil {
		return s.reject(name, err)
	}
	if t := s.tasks[start.ID]; t != nil {
		s.Log.Info("harvest asked for again", "harvest", start.ID, "file", name)
		t.files = append(t.files, name)
		return nil
	}
	if _, err := os.Stat(s.donePath(start.ID)); err == nil {
		s.Log.Info("harvest asked for again", "harvest", start.ID, "file", name)
		if err := discard(s.Harvester.o.dirOf(start)); err != nil { // as when it was killed at its end
			s.Log.Error("request not removed", "file", name, "error", err)
			return nil
		}
		s.remove(name)
		return nil
	}
	t := &task{id: start.ID, key: key, body: body, files: []string{name}, stop: make(chan struct{})}
	kind := s.Harvester.o.kind(start.Type)
	if t.place = start.ID; kind != nil {
		t.stream, t.place = kind.Stream, kind.Module+" "+s.Harvester.o.local(start.Path)
	}
	s.tasks[t.id] = t
	return nil
}

// takeStop stops a harvest. Its file stays until the harvest has ended.
func (s *Service) takeStop(name string, body []byte) error {
	stop, err := sfm.ParseStop(body)
	if err != nil {
		return s.reject(name, err)
	}
	t := s.tasks[stop.ID]
	if t == nil {
		s.Log.Info("no such harvest to stop", "harvest", stop.ID)
		s.remove(name)
		return nil
	}
	t.files = append(t.files, name)
	s.Log.Info("harvest told to stop", "harvest", stop.ID)
	if !t.stopped {
		t.stopped = true
		close(t.stop)
	}
	return nil
}

// reject moves what is no request out of the way, with the reason beside it.
func (s *Service) reject(name string, why error) error {
	s.Log.Error("request set aside", "file", name, "error", why)
	from, to := filepath.Join(s.Dir, InDir), filepath.Join(s.Dir, failedDir)
	if err := replace(filepath.Join(to, name+".why"), []byte(why.Error()+"\n")); err != nil {
		return fmt.Errorf("cannot set %q aside: %w", name, err)
	}
	for _, suffix := range []string{".meta", ""} {
		if err := os.Rename(filepath.Join(from, name+suffix), filepath.Join(to, name+suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot set %q aside: %w", name, err)
		}
	}
	delete(s.files, name)
	return errors.Join(syncDir(to), syncDir(from))
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

// forgetOld removes what is known of harvests that have ended long ago.
func (s *Service) forgetOld() error {
	dir := filepath.Join(s.Dir, doneDir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && info.ModTime().Before(s.Now().Add(-keepDone)) {
			err = gone(filepath.Join(dir, e.Name()))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
