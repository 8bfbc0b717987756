package test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"testing"
	"time"
)

// mirrored lists everything below a directory as a mirror must have it: names, bytes, links,
// modes and times.
func mirrored(dir string) string {
	var lines []string
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, p)
		if err != nil || rel == "." || strings.HasSuffix(p, ".tmp") {
			return nil // it changes while we look
		}
		info, err := d.Info()
		switch to, _ := os.Readlink(p); {
		case err != nil:
		case d.IsDir():
			lines = append(lines, rel+"/")
		case to != "":
			lines = append(lines, rel+" -> "+to)
		default:
			b, _ := os.ReadFile(p)
			lines = append(lines, fmt.Sprintf("%s %v %d %q", rel, info.Mode(), info.ModTime().UnixMicro(), b))
		}
		return nil
	})
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

// A scribbler does things at random to a tree, as users do. Names are few, so that they meet.
type scribbler struct {
	*rand.Rand
	dir  string
	n    int
	last []func() // what is done when all else is
}

// writing does what changes the file p, unless that has several names. Then it is left to the end: of a file
// written by a name that is gone at once the kernel tells nothing of the others.
func (s *scribbler) writing(p string, do func() error) error {
	info, err := os.Stat(p)
	if err == nil && !info.IsDir() && info.Sys().(*syscall.Stat_t).Nlink > 1 {
		s.last = append(s.last, func() { _ = do() })
		return nil
	}
	return do()
}

// rest ends what was begun.
func (s *scribbler) rest() {
	for _, do := range s.last {
		do()
	}
	s.last = nil
}

func (s *scribbler) name() string {
	names := []string{"a", "b c", "d#e", "f%20g", "h%", "ñandú", "文", ".i", "j.tmp~", "k'l\"m"}
	return names[s.IntN(len(names))]
}

func (s *scribbler) folder() string {
	p := s.dir
	for range s.IntN(3) {
		p = filepath.Join(p, "dir "+s.name())
	}
	return p
}

func (s *scribbler) path() string { return filepath.Join(s.folder(), s.name()) }

func (s *scribbler) content() []byte {
	s.n++
	return []byte(strings.Repeat(fmt.Sprintf("content %d\n", s.n), s.IntN(20)))
}

// do does one thing, which may fail as it may for users, and says what.
func (s *scribbler) do() string {
	p, q := s.path(), s.path()
	say := func(what string, err error) string { return fmt.Sprintf("%s %s %s: %v", what, p, q, err) }
	switch k := s.IntN(100); {
	case k < 22:
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			return say("make", err)
		}
		return say("write", s.writing(p, func() error { return os.WriteFile(p, s.content(), 0o644) }))
	case k < 32:
		return say("append", s.writing(p, func() error {
			f, err := os.OpenFile(p, os.O_APPEND|os.O_WRONLY, 0)
			if err == nil {
				_, err = f.Write(s.content())
				f.Close()
			}
			return err
		}))
	case k < 36:
		return say("truncate", s.writing(p, func() error { return os.Truncate(p, int64(s.IntN(30))) }))
	case k < 52:
		return say("rename", os.Rename(p, q))
	case k < 60:
		p, q = s.folder(), s.folder()
		if p == s.dir {
			return "nothing"
		}
		return say("rename directory", os.Rename(p, q))
	case k < 64:
		return say("link", os.Link(p, q))
	case k < 69:
		return say("symlink", os.Symlink(s.name(), p))
	case k < 79:
		return say("remove", os.Remove(p))
	case k < 84:
		p = s.folder()
		return say("mkdir", os.MkdirAll(p, 0o755))
	case k < 87:
		if p = s.folder(); p == s.dir {
			return "nothing"
		}
		return say("remove all", os.RemoveAll(p))
	case k < 93:
		if info, err := os.Lstat(p); err != nil || !info.Mode().IsRegular() {
			return "nothing"
		}
		return say("chmod", s.writing(p, func() error { return os.Chmod(p, fs.FileMode(0o600+s.IntN(0o100))) }))
	default:
		if info, err := os.Lstat(p); err != nil || !info.Mode().IsRegular() {
			return "nothing"
		}
		t := time.Unix(1_500_000_000+int64(s.IntN(100_000_000)), int64(s.IntN(1_000_000))*1000)
		return say("touch", s.writing(p, func() error { return os.Chtimes(p, t, t) }))
	}
}

// A mirroring is a tree that is scribbled in, watched, and copied by who follows.
type mirroring struct {
	*host
	s                *scribbler
	done             int
	ops              []string // since the trees were last equal
	watch, subscribe *running
}

func newMirroring(t *testing.T, seed uint64) *mirroring {
	h := newHost(t)
	must(t, os.MkdirAll(h.path("src"), 0o755))
	url, in := "sqlite://"+h.path("pump.db"), "xs_mirror"
	m := &mirroring{host: h, s: &scribbler{Rand: rand.New(rand.NewPCG(seed, 0)), dir: h.path("src")}}
	m.subscribe = h.start("sr_subscribe", "-b", url, "-exchange", in, "-mirror", "-directory", h.path("dst"))
	m.subscribe.await("consuming")
	m.watch = h.start("sr_watch", "-pb", url, "-px", in, "-pbd", h.path("src"), "-pbu", serveDir(t, h.path("src")),
		"-events", "create,modify,delete,link,move,mkdir,rmdir", "-p", h.path("src"))
	m.watch.await("watching")
	return m
}

// together is how many things are done between two looks at the trees.
const together = 500

// follows does things until n are done in all, looking at the trees in between, and reports
// whether they were always equal in the end.
func (m *mirroring) follows(n int) bool {
	for m.done < n {
		m.ops = nil
		for range min(together, n-m.done) {
			m.ops = append(m.ops, m.s.do())
			m.done++
		}
		m.s.rest()
		if !m.equal() {
			return false
		}
	}
	return true
}

// equal waits for the copy to be what the tree is; it reports whether it ever was.
func (m *mirroring) equal() bool {
	want, tick := mirrored(m.path("src")), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(deadline); time.Now().Before(end); <-tick.C {
		if mirrored(m.path("dst")) == want {
			return true
		}
	}
	return false
}

// shortest looks, by halves, for the fewest things of this seed after which the trees differ: more than good,
// at most bad. What fails by chance may be given as bad.
func shortest(t *testing.T, seed uint64, good, bad int) int {
	for bad-good > 1 {
		m := newMirroring(t, seed)
		half := (good + bad) / 2
		if m.follows(half) {
			good = half
		} else {
			bad = min(bad, m.done)
		}
		m.watch.kill()
		m.subscribe.kill()
	}
	return bad
}

// Whatever is done to a watched tree, a mirror of it ends equal: names, bytes, links, modes and
// times. Of a failure the seed and the shortest beginning after which the two differed are said; the
// environment's SEED does the same things again.
func TestMirror(t *testing.T) {
	seed := rand.Uint64()
	if s := os.Getenv("SEED"); s != "" {
		_, err := fmt.Sscan(s, &seed)
		must(t, err)
	}
	m := newMirroring(t, seed)
	if !m.follows(10_000) {
		t.Errorf("SEED=%d: the trees differ after %d operations\n%s\n%s\n%s\n%s", seed, m.done, differing(mirrored(m.path("src")), mirrored(m.path("dst"))),
			strings.Join(m.ops, "\n"), m.subscribe.text(), m.watch.text())
		t.Errorf("SEED=%d: the fewest operations after which they differ: %d", seed, shortest(t, seed, m.done-len(m.ops), m.done))
	}
	m.watch.stop()
	m.subscribe.stop()
}

// differing is what one listing has and the other has not.
func differing(want, got string) string {
	lines := make(map[string]int)
	for _, l := range strings.Split(want, "\n") {
		lines["- "+l]++
	}
	for _, l := range strings.Split(got, "\n") {
		if lines["- "+l] > 0 {
			delete(lines, "- "+l)
		} else {
			lines["+ "+l]++
		}
	}
	var out []string
	for l := range lines {
		out = append(out, l)
	}
	sort.Strings(out)
	return strings.Join(out, "\n")
}
