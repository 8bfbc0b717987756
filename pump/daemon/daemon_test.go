package daemon

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"srpump/pump/config"
)

func newState(t *testing.T) config.State {
	t.Helper()
	st, err := config.NewState(t.TempDir(), "subscribe", "radar")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(st.Dir(), 0o755); err != nil {
		t.Fatal(err)
	}
	return st
}

// A seat has one holder, who can be found, and is free when it is released. To look is not to take.
func TestLock(t *testing.T) {
	st := newState(t)
	if _, held, err := Find(st); held || err != nil {
		t.Fatalf("held by nobody: %v, %v", held, err)
	}
	lock, err := Take(st, Started)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		h, held, err := Find(st)
		if !held || err != nil || h.PID != os.Getpid() || h.Instance != Started || !h.alive() {
			t.Fatalf("found %+v, %v, %v", h, held, err)
		}
	}
	_, err = Take(st, 0)
	var b *Busy
	if !errors.Is(err, ErrBusy) || !errors.As(err, &b) || b.Holder.PID != os.Getpid() {
		t.Fatalf("taken twice: %v", err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	if lock, err = Take(st, 0); err != nil {
		t.Fatal(err)
	}
	lock.Release()
}

// A holder whose number has another bearer by now is over, and no signal reaches that one.
func TestNoSignalForAStranger(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	start, err := startTime(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	before := Holder{PID: cmd.Process.Pid, Start: start - 1}
	if err := before.Signal(syscall.SIGKILL); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("a signal for a process that is over: %v", err)
	}
	if killed, err := before.End(time.Second); killed || err != nil {
		t.Errorf("ended: %v, %v", killed, err)
	}
	if now, err := startTime(cmd.Process.Pid); err != nil || now != start {
		t.Error("it reached the stranger")
	}
}

// What does not end when it is told to is killed.
func TestEndKills(t *testing.T) {
	cmd := exec.Command("sh", "-c", "trap '' TERM; echo ready; while :; do sleep 60; done")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	start, _ := startTime(cmd.Process.Pid)
	waited := make(chan error, 1)
	go func() { waited <- cmd.Wait() }()
	if killed, err := (Holder{PID: cmd.Process.Pid, Start: start}).End(50 * time.Millisecond); !killed || err != nil {
		t.Errorf("killed: %v, %v", killed, err)
	}
	<-waited
}

// A v02 process is one whose number and command line say so; a number that a stranger bears by
// now is none.
func TestStranger(t *testing.T) {
	st := newState(t)
	like := func(argv0 string, args ...string) int {
		cmd := &exec.Cmd{Path: "/bin/sleep", Args: []string{"sleep", "60"}}
		if argv0 != "" { // a shell that waits, under a command line of choice
			cmd = &exec.Cmd{Path: "/bin/sh", Args: append([]string{argv0, "-c", "read x", "/usr/bin/sr_subscribe"}, args...)}
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { in.Close() })
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		return cmd.Process.Pid
	}
	for _, c := range []struct {
		name string
		pid  int
		want bool
	}{
		{"a stranger", like(""), false},
		{"another configuration", like("python3", "--no", "1", "start", "other"), false},
		{"this test", os.Getpid(), false},
		{"nobody", 1 << 22, false},
		{"v02", like("python3", "--no", "1", "start", "radar.conf"), true},
	} {
		if err := os.WriteFile(st.Pid(3), []byte(strconv.Itoa(c.pid)), 0o644); err != nil {
			t.Fatal(err)
		}
		if pid, found := Stranger(st); found != c.want || found && pid != c.pid {
			t.Errorf("%s: %d, %v", c.name, pid, found)
		}
	}
}

// What hangs has work and a broker, and nothing comes of it; or its heart does not beat. The
// clock of the host is not asked.
func TestHung(t *testing.T) {
	const limit = time.Minute
	for _, c := range []struct {
		name string
		p    Progress
		want bool
	}{
		{"idle", Progress{BeatUptime: 90 * time.Second}, false},
		{"no heartbeat", Progress{BeatUptime: 30 * time.Second}, true},
		{"stuck", Progress{BeatUptime: 99 * time.Second, InHand: 1, MovedUptime: 30 * time.Second}, true},
		{"working", Progress{BeatUptime: 99 * time.Second, InHand: 1, MovedUptime: 50 * time.Second}, false},
		{"without a broker", Progress{BeatUptime: 99 * time.Second, InHand: 1, Unreachable: time.Now()}, false},
		{"clock set back", Progress{BeatUptime: 99 * time.Second, Beat: time.Now().Add(time.Hour)}, false},
		{"clock set on", Progress{BeatUptime: 99 * time.Second, Beat: time.Now().Add(-time.Hour)}, false},
	} {
		if got := c.p.Hung(100*time.Second, limit); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
		if c.p.Hung(time.Hour, 0) {
			t.Errorf("%s: hung without a limit", c.name)
		}
	}
	if a := Uptime(); Uptime() < a || a <= 0 {
		t.Error("uptime goes back")
	}
}

// What is started is wanted until it is forgotten; what v02 alone started is not.
func TestWanted(t *testing.T) {
	st := newState(t)
	stale := st.Pid(4)
	if err := os.WriteFile(stale, []byte("99"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Enter(st, 0); err != nil || Wanted(st) {
		t.Fatalf("wanted without progress: %v", err)
	}
	if err := (&Progress{PID: os.Getpid()}).Write(st); err != nil || !Wanted(st) {
		t.Fatalf("not wanted: %v", err)
	}
	if b, err := os.ReadFile(st.Pid(Started)); err != nil || string(b) != strconv.Itoa(os.Getpid()) {
		t.Errorf("pid file %q, %v", b, err)
	}
	if _, err := os.Stat(stale); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a stale pid file stays")
	}
	if err := Leave(st); err != nil || !Wanted(st) {
		t.Errorf("died, and is not wanted: %v", err)
	}
	if err := Forget(st); err != nil || Wanted(st) {
		t.Errorf("stopped, and is wanted: %v", err)
	}
}

// What is forgotten while somebody runs it, who was started since it was stopped, stays his.
func TestForgetInBetween(t *testing.T) {
	st := newState(t)
	lock, err := Take(st, Started)
	if err == nil {
		err = errors.Join(Enter(st, 1), (&Progress{PID: os.Getpid()}).Write(st), Forget(st))
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(st.Pid(Started)); err != nil || !Wanted(st) {
		t.Errorf("not wanted any more, %v", err)
	}
	lock.Release()
	if err := Forget(st); err != nil || Wanted(st) {
		t.Errorf("stopped, and is wanted: %v", err)
	}
}

// Who only forgets is nobody's holder: who takes the seat meanwhile gets it.
func TestTakeDuringForget(t *testing.T) {
	st := newState(t)
	var forgetting sync.WaitGroup
	defer forgetting.Wait()
	over := make(chan struct{})
	defer close(over)
	forgetting.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
				if err := Forget(st); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	for range 300 {
		lock, err := Take(st, Started)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(lock.file.Truncate(0), lock.Release()); err != nil { // as if it were dead
			t.Fatal(err)
		}
	}
}

// A v02 status and sanity count the process numbers from 01 to the instances the configuration asks
// for, and want as many as the .state file says: decimal, without a line feed, of live processes.
func TestFilesOfInstances(t *testing.T) {
	st := newState(t)
	me := strconv.Itoa(os.Getpid())
	for _, n := range []int{3, 2, 5, 1} {
		if err := Enter(st, n); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(st.Instances()); err != nil || string(b) != strconv.Itoa(n) {
			t.Errorf("%d instances: .state is %q, %v", n, b, err)
		}
		for i := 1; i <= 5; i++ {
			b, err := os.ReadFile(st.Pid(i))
			if i <= n && (err != nil || string(b) != me) || i > n && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%d instances: the number of %02d is %q, %v", n, i, b, err)
			}
		}
		if pid, found := Stranger(st); found {
			t.Errorf("%d instances: process %d is a stranger", n, pid)
		}
	}
}

// What we started, was killed, and v02 has started since is not ours to start again, however v02 left it.
func TestWantedByOthers(t *testing.T) {
	st := newState(t)
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(Enter(st, 2), (&Progress{PID: os.Getpid()}).Write(st)); err != nil || !Wanted(st) {
		t.Fatalf("killed, and is not wanted: %v", err)
	}
	lock, err := Take(st, Started)
	if err := errors.Join(err, (&Progress{PID: 4194300}).Write(st), lock.Release()); err != nil || !Wanted(st) {
		t.Errorf("killed before its first progress, and is not wanted: %v", err)
	}
	write(st.Pid(1), "4194301")
	write(st.Pid(2), "4194302")
	write(st.Instances(), "2")
	if Wanted(st) {
		t.Error("what v02 started is wanted")
	}
}

// Configurations, disabled ones, and those whose file is gone while they run.
func TestList(t *testing.T) {
	home := t.TempDir()
	env := config.Env{Home: home, Cwd: home}
	dir := filepath.Join(env.ConfigDir(), "subscribe")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b.conf", "a.conf", "a.conf.off", "c.conf.off", "x.inc", ".hidden.conf", "b.conf~"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	all, err := List(env, "subscribe")
	var got []string
	for _, l := range all {
		got = append(got, l.Name+" "+strconv.FormatBool(l.Disabled))
	}
	if want := []string{"a false", "b false", "c true"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	st, _ := config.NewState(env.CacheDir(), "subscribe", "gone")
	lock, err := Take(st, Started)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	if o := Orphans(env.CacheDir(), "subscribe", all); len(o) != 1 || o[0].Name != "gone" || o[0].Path != "" {
		t.Errorf("orphans %+v", o)
	}
}

// systemd hears through its socket, in the file system or abstract, and asks for signs of life.
func TestSupervisor(t *testing.T) {
	for _, name := range []string{filepath.Join(t.TempDir(), "n"), "@srpump-test-" + strconv.Itoa(os.Getpid())} {
		l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("NOTIFY_SOCKET", name)
		t.Setenv("WATCHDOG_USEC", "4000000")
		t.Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid()))
		s := TheSupervisor()
		if !s.Present() || s.WatchdogEvery() != 2*time.Second || os.Getenv("NOTIFY_SOCKET") != "" {
			t.Errorf("%q: %+v", name, s)
		}
		s.Ready()
		s.Reloading()
		s.Status("all\nwell")
		s.Alive()
		s.Stopping()
		b := make([]byte, 512)
		for _, want := range []string{"READY=1", "RELOADING=1\nMONOTONIC_USEC=", "STATUS=all well", "WATCHDOG=1", "STOPPING=1"} {
			n, err := l.Read(b)
			if err != nil || !strings.HasPrefix(string(b[:n]), want) {
				t.Errorf("%q, not %q: %v", b[:n], want, err)
			}
		}
		l.Close()
	}
	t.Setenv("NOTIFY_SOCKET", "")
	TheSupervisor().Ready() // nobody hears
	if watchdogEvery("4000000", "1", 2) != 0 || watchdogEvery("x", "", 2) != 0 {
		t.Error("a watchdog that is another's")
	}
}

// However much a process says on its way to an end, whoever started it hears of the end, and the last of it.
func TestStartHearsToTheEnd(t *testing.T) {
	b, err := Spawn{Exe: "/bin/sh", Arg: []string{"sh", "-c", "head -c 300000 /dev/zero | tr '\\0' x >&3; echo why >&3; exit 3"}, Dir: t.TempDir()}.Start(time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if !b.Ended || b.Status != 3 || !strings.HasSuffix(b.Said, "xwhy\n") || len(b.Said) > readLimit {
		t.Errorf("ended %v with status %d after %d bytes", b.Ended, b.Status, len(b.Said))
	}
}

// What is handed over besides the command line arrives as it is, also more than a pipe holds; a process that
// does not want it is no failure.
func TestStartHandsOver(t *testing.T) {
	out := filepath.Join(t.TempDir(), "words")
	words := []string{"-a=b c", "-n=x\ny", "-raw=\xff", strings.Repeat("x", 300_000)}
	for _, script := range []string{"exec cat <&4 >" + out, "exit 0"} {
		b, err := Spawn{Exe: "/bin/sh", Arg: []string{"sh", "-c", script}, Words: words, Dir: t.TempDir()}.Start(time.Minute)
		if err != nil || !b.Ended || b.Status != 0 {
			t.Errorf("%s: %+v, %v", script, b, err)
		}
	}
	if got, err := os.ReadFile(out); err != nil || string(got) != "4\x00"+strings.Join(words, "\x00")+"\x00" {
		t.Errorf("handed over %d bytes, %v", len(got), err)
	}
}

// A broker may go while the process says that it works.
func TestParentHearsOnce(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p := &Parent{pipe: w}
	var both sync.WaitGroup
	both.Go(p.Ready)
	both.Go(func() { p.Unreachable(io.EOF) })
	both.Wait()
	said, err := io.ReadAll(r)
	if err != nil || strings.Count(string(said), "\n") != 1 || p.Waits() {
		t.Errorf("heard %q, %v", said, err)
	}
}

// Who started it may have gone; what is said then is for the log alone.
func TestParentGone(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	p := &Parent{pipe: w}
	defer p.Ready()
	var log strings.Builder
	if _, err := io.WriteString(io.MultiWriter(p, &log), "cannot go on"); err != nil || log.String() != "cannot go on" {
		t.Errorf("the log has %q, %v", log.String(), err)
	}
}
