package winnow

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"
)

// filled makes a cache of n paths, each committed alone, and returns the bytes of its one segment.
func filled(t *testing.T, dir string, n int) []byte {
	t.Helper()
	c, _ := open(t, Options{Dir: dir})
	for i := range n {
		pass(t, c, say(fmt.Sprint("p", i), "d,aa", "", 0))
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "00000001.seen"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// knows opens dir and counts the paths that filled committed.
func knows(t *testing.T, dir string, n int) (known, damaged int) {
	t.Helper()
	c, _ := open(t, Options{Dir: dir})
	defer c.Close()
	for i := range n {
		if v, _ := c.Offer(say(fmt.Sprint("p", i), "d,aa", "", 0)); v == Duplicate {
			known++
		}
	}
	return known, c.Stats().Damaged
}

func replaceSegment(t *testing.T, b []byte) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "00000001.seen"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestRestart(t *testing.T) {
	dir := t.TempDir()
	c, h := open(t, Options{Dir: dir, TTL: time.Minute})
	for _, a := range []string{"d,a", "d,b", "d,c"} {
		h.t = h.t.Add(time.Second)
		pass(t, c, say("p", a, "", float64(h.t.Sub(epoch)/time.Second)))
	}
	pass(t, c, say("gone", "R,x", "", 3))
	_, _ = c.Offer(say("held", "d,a", "", 3))
	c.Close()
	c, h = open(t, Options{Dir: dir, TTL: time.Minute})
	h.t = epoch.Add(10 * time.Second)
	for i, s := range []struct {
		path, sum string
		at        float64
		want      Verdict
	}{{"p", "d,c", 3.1, Duplicate}, {"p", "d,a", 1.1, Duplicate}, {"p", "d,b", 2.1, Duplicate}, {"gone", "R,x", 3, Duplicate},
		{"held", "d,a", 3, Fresh}, {"p", "d,a", 4, Fresh}, {"gone", "d,a", 4, Fresh}} {
		if v := pass(t, c, say(s.path, s.sum, "", s.at)); v != s.want {
			t.Errorf("step %d: %v, want %v", i, v, s.want)
		}
	}
}

func TestRestartAfterStepBack(t *testing.T) {
	dir := t.TempDir()
	filled(t, dir, 1)
	before := &hand{epoch.Add(-48 * time.Hour)}
	c, _ := open(t, Options{Dir: dir, Now: before.now})
	a := say("p0", "d,aa", "", 0)
	if v, _ := c.Offer(a); v != Duplicate {
		t.Errorf("%v", v)
	}
	before.t = before.t.Add(20 * time.Minute)
	if v, _ := c.Offer(a); v != Fresh {
		t.Errorf("a time to live later: %v", v)
	}
}

func TestTornAtEveryByte(t *testing.T) {
	const n = 4
	b := filled(t, t.TempDir(), n)
	frame := frameHeader + markSize
	for cut := range b {
		dir := replaceSegment(t, b[:cut])
		want := max(cut-segmentHeader, 0) / frame
		if known, damaged := knows(t, dir, n); known != want || damaged != 0 {
			t.Fatalf("cut at %d: %d known and %d damaged, want %d and 0", cut, known, damaged, want)
		}
		c, _ := open(t, Options{Dir: dir})
		pass(t, c, say("more", "d,aa", "", 0))
		c.Close()
		c, _ = open(t, Options{Dir: dir})
		if v, _ := c.Offer(say("more", "d,aa", "", 0)); v != Duplicate || c.Stats().Damaged != 0 {
			t.Fatalf("cut at %d: what was added later: %v", cut, v)
		}
		c.Close()
	}
}

func TestFlippedBits(t *testing.T) {
	const n = 4
	b := filled(t, t.TempDir(), n)
	frame := frameHeader + markSize
	for at := range b {
		flipped := append([]byte(nil), b...)
		flipped[at] ^= 1 << (at % 8)
		lost, reports := 1, 1
		if at < segmentHeader {
			lost = 0
		}
		if at >= segmentHeader+(n-1)*frame { // the last one: nothing behind it tells it from a torn one
			reports = 0
		}
		if known, damaged := knows(t, replaceSegment(t, flipped), n); known != n-lost || damaged != reports {
			t.Fatalf("bit at %d: %d known, %d damaged, want %d, %d", at, known, damaged, n-lost, reports)
		}
	}
}

func TestNewerVersionRefused(t *testing.T) {
	b := filled(t, t.TempDir(), 1)
	binary.LittleEndian.PutUint32(b[8:], segmentVersion+1)
	binary.LittleEndian.PutUint64(b[24:], xxhash.Sum64(b[:24]))
	_, err := Open(Options{TTL: time.Minute, Dir: replaceSegment(t, b)})
	if !errors.Is(err, ErrNewer) {
		t.Errorf("%v", err)
	}
}

func TestOtherBasisStartsAnew(t *testing.T) {
	dir := t.TempDir()
	filled(t, dir, 3)
	c, _ := open(t, Options{Dir: dir, Basis: Name})
	if c.Len() != 0 {
		t.Errorf("%d marks", c.Len())
	}
}

func TestTwoProcesses(t *testing.T) {
	dir := t.TempDir()
	if os.Getenv("WINNOW_DIR") != "" {
		_, err := Open(Options{TTL: time.Minute, Dir: os.Getenv("WINNOW_DIR")})
		fmt.Println("busy:", errors.Is(err, ErrBusy))
		return
	}
	open(t, Options{Dir: dir})
	cmd := exec.Command(os.Args[0], "-test.run=^TestTwoProcesses$")
	cmd.Env = append(os.Environ(), "WINNOW_DIR="+dir)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "busy: true") {
		t.Errorf("%v: %s", err, out)
	}
}

// What Commit returned for is there after a kill, at whatever moment it comes.
func TestKill(t *testing.T) {
	if dir := os.Getenv("WINNOW_KILL"); dir != "" {
		c, _ := open(t, Options{Dir: dir})
		for i := 0; ; i++ {
			pass(t, c, say(fmt.Sprint("p", i), "d,aa", "", 0))
			fmt.Println("done", i)
		}
	}
	for round := range 5 {
		dir := t.TempDir()
		cmd := exec.Command(os.Args[0], "-test.run=^TestKill$")
		cmd.Env = append(os.Environ(), "WINNOW_KILL="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		done, last := 0, -1
		for done < 50+round*137 {
			if _, err := fmt.Fscanf(out, "done %d\n", &last); err == nil {
				done++
			}
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if known, damaged := knows(t, dir, last+1); known != last+1 || damaged != 0 {
			t.Errorf("round %d: %d of %d known, %d damaged", round, known, last+1, damaged)
		}
	}
}

// A disk that is full: the kernel cuts the write short, as a limit on file sizes does.
func TestDiskFull(t *testing.T) {
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	dir := t.TempDir()
	c, _ := open(t, Options{Dir: dir})
	_, tok := c.Offer(say("before", "d,aa", "", 0))
	if err := limited(t, 16, func() error { return c.Commit(tok) }); !errors.Is(err, syscall.EFBIG) {
		t.Fatalf("first commit on a full disk: %v", err)
	}
	if err := c.Commit(tok); err != nil {
		t.Fatal(err)
	}
	_, tok = c.Offer(say("p", "d,aa", "", 0))
	err := limited(t, uint64(c.log.cur.size)+20, func() error { return c.Commit(tok) })
	if !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), dir) {
		t.Fatalf("commit on a full disk: %v", err)
	}
	if v, _ := c.Offer(say("p", "d,aa", "", 0)); v != Held {
		t.Errorf("the failed one is %v, want held", v)
	}
	if err := c.Commit(tok); err != nil {
		t.Fatal(err)
	}
	c.Close()
	c, _ = open(t, Options{Dir: dir})
	for _, p := range []string{"before", "p"} {
		if v, _ := c.Offer(say(p, "d,aa", "", 0)); v != Duplicate || c.Stats().Damaged != 0 {
			t.Errorf("%s: %v", p, v)
		}
	}
}

func limited(t *testing.T, size uint64, fn func() error) error {
	t.Helper()
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was) }()
	return fn()
}

func TestSegmentsEndAndExpire(t *testing.T) {
	dir := t.TempDir()
	c, h := open(t, Options{Dir: dir, TTL: time.Minute})
	for i := range 240 {
		h.t = h.t.Add(time.Second)
		pass(t, c, say(fmt.Sprint("p", i), "d,aa", "", 0))
		if err := c.Sweep(); err != nil {
			t.Fatal(err)
		}
	}
	names, _ := filepath.Glob(filepath.Join(dir, "*.seen"))
	if len(names) < 6 || len(names) > 10 {
		t.Errorf("%d segments of an eighth of the time to live: %q", len(names), names)
	}
	c.Close()
	c, _ = open(t, Options{Dir: dir, TTL: time.Minute, Now: h.now})
	for i, want := range map[int]Verdict{239: Duplicate, 181: Duplicate, 180: Duplicate, 170: Fresh} {
		if v, _ := c.Offer(say(fmt.Sprint("p", i), "d,aa", "", 0)); v != want {
			t.Errorf("p%d: %v, want %v", i, v, want)
		}
	}
}

func TestCompact(t *testing.T) {
	for _, mode := range []Mode{Many, One} {
		dir := t.TempDir()
		c, h := open(t, Options{Dir: dir, TTL: 24 * time.Hour, Mode: mode})
		for round := range 120 {
			h.t = h.t.Add(time.Second)
			var toks []Token
			for i := range 1000 {
				v, tok := c.Offer(say(fmt.Sprint("p", i), fmt.Sprint("d,a", round%2), "", float64(round)))
				if v != Fresh {
					t.Fatal(v)
				}
				toks = append(toks, tok)
			}
			if err := c.CommitAll(toks); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Sweep(); err != nil {
			t.Fatal(err)
		}
		if len(c.log.old) != 1 || c.log.old[0].records > 3000 {
			t.Errorf("after compaction: %+v", c.log.old)
		}
		pass(t, c, say("after", "d,a", "", 130))
		c.Close()
		c, _ = open(t, Options{Dir: dir, TTL: 24 * time.Hour, Mode: mode, Now: h.now})
		if v, _ := c.Offer(say("after", "d,a", "", 130)); v != Duplicate {
			t.Errorf("after: %v", v)
		}
		if v, _ := c.Offer(say("p7", "d,a1", "", 119)); v != Duplicate {
			t.Errorf("last: %v", v)
		}
		late := map[Mode]Verdict{Many: Duplicate, One: Fresh}
		if v, _ := c.Offer(say("p7", "d,a0", "", 118)); v != late[mode] {
			t.Errorf("mode %d: the one before: %v", mode, v)
		}
	}
}
