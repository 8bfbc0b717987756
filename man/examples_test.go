package man

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// An example is one literal display that a comment before it marks:
//
//	.\" run           its commands succeed and print what is shown
//	.\" until         they do so sooner or later
//	.\" start PHRASE  they go on in the background, and say PHRASE once they work
//	.\" stop          what goes on in the background ends, and well; no display follows
//
// Commands are the lines behind "$ ", continued behind "> "; the rest is what is shown.
type example struct {
	how, phrase  string
	script, want string
	line         int
}

// examples are the marked displays of a page, in order.
func examples(t *testing.T, p page) []example {
	var out []example
	for i, l := range p.lines {
		mark, ok := strings.CutPrefix(l, `.\" `)
		if !ok {
			continue
		}
		how, phrase, _ := strings.Cut(mark, " ")
		e := example{how: how, phrase: phrase, line: i + 2}
		if how == "stop" {
			out = append(out, e)
			continue
		}
		if !strings.HasPrefix(p.lines[i+1], ".Bd -literal") {
			t.Fatalf("%s:%d: a mark without an example", p.file, i+1)
		}
		for _, l := range p.lines[i+2:] {
			if l == ".Ed" {
				break
			}
			l = printed(t, p.file, l)
			command, isCommand := strings.CutPrefix(l, "$ ")
			more, isMore := strings.CutPrefix(l, ">")
			switch {
			case isCommand:
				e.script += command + "\n"
			case isMore:
				e.script += strings.TrimPrefix(more, " ") + "\n"
			default:
				e.want += l + "\n"
			}
		}
		out = append(out, e)
	}
	return out
}

// printed is a line of a display as a reader sees it. A backslash is \e there: a bare one begins an
// escape of roff, so that the page would show something else than what runs.
func printed(t *testing.T, file, line string) string {
	const mark = "\x00"
	line = strings.NewReplacer(`\e`, mark, `\&`, "").Replace(line)
	if strings.Contains(line, `\`) {
		t.Errorf(`%s: an example has an escape that is neither \e nor \&: %q`, file, line)
	}
	return strings.ReplaceAll(line, mark, `\`)
}

// What the pages show as runnable runs, and prints what they show, in a new home.
func TestExamples(t *testing.T) {
	bin := build(t)
	for _, p := range pages(t) {
		all := examples(t, p)
		if len(all) == 0 {
			continue
		}
		t.Run(p.file, func(t *testing.T) {
			t.Parallel()
			r := newRunner(t, bin)
			for _, e := range all {
				e.script = strings.ReplaceAll(e.script, "127.0.0.1:8000", r.address)
				r.run(p, e)
			}
		})
	}
}

// build makes the commands as they are installed: one program and its links, and the others.
func build(t *testing.T) string {
	t.Helper()
	bin := t.TempDir()
	if out, err := exec.Command("go", append([]string{"build", "-o", bin}, programs(t)...)...).CombinedOutput(); err != nil {
		t.Fatalf("cannot build: %v\n%s", err, out)
	}
	names := []string{"sr", "sr_log2save"}
	for _, p := range commands() {
		names = append(names, p.Program())
	}
	for _, name := range names {
		if err := os.Symlink("srpump", filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	return bin
}

// programs are the directories of all commands but those that are links.
func programs(t *testing.T) (dirs []string) {
	all, err := filepath.Glob("../cmd/*/main.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		if dir := filepath.Dir(file); filepath.Base(dir) != "sr" && !strings.HasPrefix(filepath.Base(dir), "sr_") {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// A runner runs the examples of one page, in one directory.
type runner struct {
	t       *testing.T
	dir     string
	env     []string
	address string // in place of the one the pages show
	stops   []func()
}

func newRunner(t *testing.T, bin string) *runner {
	dir := t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r := &runner{t: t, dir: dir, address: l.Addr().String(), env: []string{
		"HOME=" + dir, "PATH=" + bin + ":" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir(), "LC_ALL=C",
	}}
	t.Cleanup(r.stop)
	return r
}

// patience bounds what should happen at once.
const patience = 30 * time.Second

func (r *runner) run(p page, e example) {
	r.t.Helper()
	switch e.how {
	case "run":
		if out, log, err := r.shell(e.script); err != nil || out != e.want {
			r.t.Errorf("%s:%d: %v\nprinted %q\nshown   %q\n%s", p.file, e.line, err, out, e.want, log)
		}
	case "until":
		r.until(p, e)
	case "start":
		r.start(p, e)
	case "stop":
		r.stop()
	default:
		r.t.Errorf("%s:%d: unknown mark %q", p.file, e.line, e.how)
	}
}

func (r *runner) command(ctx context.Context, script string) *exec.Cmd {
	c := exec.CommandContext(ctx, "sh", "-eu", "-c", script)
	c.Dir, c.Env = r.dir, r.env
	return c
}

func (r *runner) shell(script string) (out, log string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := r.command(ctx, script)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	err = c.Run()
	return stdout.String(), stderr.String(), err
}

// until runs an example again and again, at a measured pace, until it prints what is shown.
func (r *runner) until(p page, e example) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	end := time.After(patience)
	for {
		out, log, err := r.shell(e.script)
		if err == nil && out == e.want {
			return
		}
		select {
		case <-tick.C:
		case <-end:
			r.t.Errorf("%s:%d: %v\nprinted %q\nshown   %q\n%s", p.file, e.line, err, out, e.want, log)
			return
		}
	}
}

// start runs an example in the background until it is stopped.
func (r *runner) start(p page, e example) {
	c := r.command(context.Background(), execLast(e.script))
	log := &phraseLog{phrase: e.phrase, said: make(chan struct{})}
	c.Stderr = log
	if err := c.Start(); err != nil {
		r.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	select {
	case <-log.said:
	case err := <-ended:
		r.t.Fatalf("%s:%d: ended: %v\n%s", p.file, e.line, err, log)
	case <-time.After(patience):
		r.t.Errorf("%s:%d: never says %q\n%s", p.file, e.line, e.phrase, log)
	}
	r.stops = append(r.stops, func() {
		if err := end(c.Process, ended); err != nil {
			r.t.Errorf("%s:%d: %v\n%s", p.file, e.line, err, log)
		}
	})
}

func (r *runner) stop() {
	for _, stop := range r.stops {
		stop()
	}
	r.stops = nil
}

// end asks a process to end, and insists when it does not.
func end(p *os.Process, ended <-chan error) error {
	if err := p.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(patience):
		return errors.Join(errors.New("does not stop"), p.Kill())
	}
}

// execLast makes the shell become its last command, so that a signal reaches that one.
func execLast(script string) string {
	lines := strings.Split(strings.TrimSuffix(script, "\n"), "\n")
	lines[len(lines)-1] = "exec " + lines[len(lines)-1]
	return strings.Join(lines, "\n")
}

// A phraseLog keeps what is written to it and tells when a phrase was.
type phraseLog struct {
	phrase string
	said   chan struct{}

	mu   sync.Mutex
	text bytes.Buffer
	done bool
}

var _ io.Writer = (*phraseLog)(nil)

func (l *phraseLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(b)
	if !l.done && strings.Contains(l.text.String(), "] "+l.phrase) {
		l.done = true
		close(l.said)
	}
	return len(b), nil
}

func (l *phraseLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
