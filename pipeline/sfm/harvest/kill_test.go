package harvest_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"

	"srpump/pipeline/sfm"
	"srpump/pipeline/spool"
)

// A harvest that is killed before any of its steps, the first, second or a later time, ends as if it had
// not been: everything is archived, told of once, and counted once.
func TestKillAtSteps(t *testing.T) {
	for _, step := range []string{"record", "links", "move", "state", "created", "status", "announce", "result", "forget", "final", "ended", "told", "remove"} {
		for _, nth := range []int{1, 3} {
			if nth > 1 && slices.Contains([]string{"final", "ended", "told", "remove"}, step) {
				continue
			}
			t.Run(fmt.Sprint(step, nth), func(t *testing.T) {
				t.Parallel()
				s := newSite(t)
				if !s.run(step, nth) {
					t.Fatal("it was not killed")
				}
				s.publish(nth == 3)
				before := len(s.api.Asked("method="))
				if s.run("", 0) {
					t.Fatal("it was killed again")
				}
				if slices.Contains([]string{"ended", "told", "remove"}, step) && len(s.api.Asked("method=")) != before {
					t.Error("it has asked again")
				}
				s.check()
			})
		}
	}
}

// A harvest that is killed while it asks, again and again and each time at another moment.
func TestKillAtRequests(t *testing.T) {
	s := newSite(t)
	var asked, limit atomic.Int64
	var pid atomic.Int64
	s.api.Before(func(*http.Request) {
		if asked.Add(1) == limit.Load() {
			_ = syscall.Kill(int(pid.Load()), syscall.SIGKILL)
		}
	})
	kills := 0
	for n := 0; ; n++ {
		asked.Store(0)
		limit.Store(1 + rand.Int64N(8))
		cmd, said := s.start("", 0)
		pid.Store(int64(cmd.Process.Pid))
		if !s.ended(cmd.Wait(), said) {
			break
		}
		kills++
		s.publish(n%2 == 0)
		s.half(n)
	}
	if kills < 3 {
		t.Errorf("it was killed %d times only", kills)
	}
	s.check()
}

// A requester who says what he knows is told of each WARC once.
func TestKnownIsNotToldAgain(t *testing.T) {
	s := newSite(t)
	if !s.run("result", 2) {
		t.Fatal("it was not killed")
	}
	s.publish(false)
	s.run("", 0)
	s.check()
	seen := make(map[string]bool)
	for _, m := range s.said {
		if c, err := sfm.ParseCreated(m.body); err == nil {
			if seen[c.Path] {
				t.Errorf("%s is told of twice", c.Path)
			}
			seen[c.Path] = true
		}
	}
}

// A harvest that is killed at any moment.
func TestKillAtAnyTime(t *testing.T) {
	s := newSite(t)
	for n := range 12 {
		cmd, said := s.start("", 0)
		soon(func() bool { return len(s.api.Asked("")) > 0 || len(s.files("in")) == 0 })
		s.api.Forget()
		for range rand.IntN(60) { // some time, measured in what others do
			s.files("out")
		}
		_ = cmd.Process.Kill()
		if !s.ended(cmd.Wait(), said) {
			break
		}
		s.publish(n%2 == 0)
	}
	s.run("", 0)
	s.check()
}

// files are the names in a directory of the spool.
func (s *site) files(dir string) []string {
	names, err := spool.List(filepath.Join(s.dir, "spool", dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Fatal(err)
	}
	return names
}

// half leaves half a record at the end of an open WARC, as a kill within a write does.
func (s *site) half(n int) {
	paths, err := filepath.Glob(filepath.Join(s.collection(), ".harvest", "*", "*.open"))
	must(s.t, err)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		must(s.t, err)
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		must(s.t, err)
		_, err = f.Write(data[:min(len(data), 20+37*n)])
		must(s.t, errors.Join(err, f.Close()))
	}
}

// A request that comes twice is done once: while it is done, and when it was.
func TestSameRequestTwice(t *testing.T) {
	s := newSite(t)
	s.ask("again")
	s.run("", 0)
	s.check()
	before := len(s.api.Asked("method="))
	s.ask("again")
	s.run("", 0)
	s.publish(false)
	if n := len(s.api.Asked("method=")); n != before {
		t.Errorf("it was asked %d more times", n-before)
	}
	s.check()
}
