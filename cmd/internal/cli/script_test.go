package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"srpump/cmd/internal/pipelines"
	"srpump/pump/config"
	"srpump/pump/daemon"
)

func TestMain(m *testing.M) {
	commands := make(map[string]func())
	for _, p := range Commands() {
		commands[p.Program()] = func() { MainWith(p, pipelines.All()) }
	}
	byName := func() { MainByName(pipelines.All()) }
	commands["srpump"], commands["sr"], commands[saveCommand] = byName, byName, byName
	testscript.Main(m, commands)
}

// The dialogues of every command, as a shell has them.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                "testdata/script",
		RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("GORACE", "atexit_sleep_ms=0") // else each command ends a second late
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Defer(func() { killStarted(e.Getenv("HOME")) })
			return os.MkdirAll(e.Getenv("HOME"), 0o755)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": scriptStatus, "until": scriptUntil, "capture": scriptCapture, "term": scriptTerm,
		},
	})
}

// killStarted ends what a script has started and not stopped.
func killStarted(home string) {
	files, _ := filepath.Glob(filepath.Join(home, ".cache/sarra/*/*/instance.lock"))
	for _, f := range files {
		if st, err := config.NewState(filepath.Join(home, ".cache/sarra"), filepath.Base(filepath.Dir(filepath.Dir(f))), filepath.Base(filepath.Dir(f))); err == nil {
			if h, held, err := daemon.Find(st); err == nil && held {
				_ = h.Signal(syscall.SIGKILL)
			}
		}
	}
}

// Every command named in the list of presets says what it is for.
func TestCommandsDescribed(t *testing.T) {
	for _, p := range Commands() {
		if d := describe(p); d.purpose == "" || d.usage == "" {
			t.Errorf("%s has no description", p.Program())
		}
		if p.Program() == "" || p == config.Preset(0) {
			t.Error("a command without a name")
		}
	}
}

// scriptStatus is "status N command [argument ...]": the command ends with that exit status.
func scriptStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command [argument ...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit status %d, not %d", got, want)
	}
}

// scriptTerm is "term": every command in the background is told to stop, as a supervisor does.
func scriptTerm(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: term")
	}
	for _, c := range ts.BackgroundCmds() {
		ts.Check(c.Process.Signal(syscall.SIGTERM))
	}
}

// scriptDeadline is how long a condition may take to come true.
const scriptDeadline = 30 * time.Second

// scriptUntil is "until file pattern": waits until the file holds the pattern; negated, until
// there is no such file.
func scriptUntil(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 1 || len(args) > 2 || neg && len(args) != 1 {
		ts.Fatalf("usage: [!] until file [pattern]")
	}
	pattern := regexp.MustCompile("(?m)" + append(args, "")[1])
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	var last []byte
	for end := time.Now().Add(scriptDeadline); time.Now().Before(end); <-tick.C {
		b, err := os.ReadFile(ts.MkAbs(args[0]))
		last = b
		if neg && errors.Is(err, os.ErrNotExist) || !neg && err == nil && pattern.Match(b) {
			return
		}
	}
	ts.Fatalf("still not after %v: %q; the file holds:\n%s", scriptDeadline, args, last)
}

// scriptCapture is "capture NAME file pattern": waits like until, and sets the variable to the
// first group of the pattern.
func scriptCapture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: capture NAME file pattern")
	}
	scriptUntil(ts, false, args[1:])
	m := regexp.MustCompile("(?m)" + args[2]).FindStringSubmatch(ts.ReadFile(args[1]))
	if len(m) < 2 {
		ts.Fatalf("pattern %q has no group", args[2])
	}
	ts.Setenv(args[0], m[1])
}
