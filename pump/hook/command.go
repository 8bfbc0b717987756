package hook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"srpump/pump/config"
)

// commandsAtOnce is how many programs of one cmd: line run at a time.
const commandsAtOnce = 16

// A command is a cmd: hook: one program for each event, which ends with 0 for true, 1 for false.
type command struct {
	program Program
	timeout time.Duration
	options []string // of the environment
	room    chan struct{}
}

func newCommand(words []string, env Env) (Hook, error) {
	if strings.Contains(words[0], "${") {
		return nil, errors.New("an event does not choose the command that is run")
	}
	if err := runnable(words[0], env.Dir); err != nil {
		return nil, err
	}
	c := &command{program: Program{Args: words, Dir: env.Dir, Name: env.Option, Log: env.Log},
		timeout: env.Values.Duration("hook_timeout"), room: make(chan struct{}, commandsAtOnce)}
	for name, values := range env.Unknown {
		c.options = append(c.options, "SR_OPT_"+variableName(name)+"="+strings.Join(values, "\n"))
	}
	return c, nil
}

// runnable tells a command that cannot be run before anything depends on it.
func runnable(name, dir string) error {
	if strings.Contains(name, "/") && !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	_, err := exec.LookPath(name)
	return plain(err)
}

// begin waits for room for one more program, and bounds its time. cancel gives the room back.
func (c *command) begin(ctx context.Context) (bounded context.Context, cancel func(), err error) {
	select {
	case c.room <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	end := func() {}
	if c.timeout > 0 {
		ctx, end = context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("%w: %s", errHung, c.timeout))
	}
	return ctx, func() { end(); <-c.room }, nil
}

// ErrUnfit is wrapped by errors about an event that can be no argument of a program, now or later.
var ErrUnfit = errors.New("the system takes no such argument")

// filled is the program for one event.
func (c *command) filled(e *Event) (Program, error) {
	p := c.program
	p.Args, p.Env = fill(p.Args, e), append(environment(e), c.options...)
	for _, arg := range p.Args {
		if strings.IndexByte(arg, 0) >= 0 {
			return p, fmt.Errorf("cannot run %q: %w: one holds a NUL", p.Args[0], ErrUnfit)
		}
	}
	return p, nil
}

// notRun is a program that could not be run, or failed.
func (p Program) notRun(err error) error {
	if errors.Is(err, syscall.E2BIG) {
		return fmt.Errorf("cannot run %q: %w: one, or all together, are too long", p.Args[0], ErrUnfit)
	}
	return fmt.Errorf("cannot run %q: %w", p.Args[0], plain(err))
}

// Run runs the program for one event.
func (c *command) Run(ctx context.Context, e *Event) (bool, error) {
	ctx, cancel, err := c.begin(ctx)
	if err != nil {
		return false, err
	}
	defer cancel()
	p, err := c.filled(e)
	if err != nil {
		return false, err
	}
	var out limited
	var in io.Reader
	if e.Text != "" {
		in = strings.NewReader(e.Text)
	}
	err = p.once(ctx, in, &out)
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	var exit *exec.ExitError
	switch {
	case errors.Is(err, exec.ErrWaitDelay): // it goes on in the background, as it may
		return true, nil
	case err == nil && out.over:
		return false, fmt.Errorf("%w: more than %d bytes", ErrAnswer, MaxLine)
	case err == nil:
		c.takeText(e, out.String())
		return true, nil
	case errors.As(err, &exit) && exit.ExitCode() == 1:
		return false, nil
	}
	return false, p.notRun(err)
}

// takeText is what a hook that is given a text, or asked for a name, printed.
func (c *command) takeText(e *Event, out string) {
	switch e.Point {
	case OnLine, OnHTMLPage, DoPoll:
		e.Text = out
	case DestFn:
		if name := strings.TrimRight(out, "\r\n"); name != "" {
			e.File = name
		}
	}
}

// once runs the program to its end, and with ctx ends it and all it started.
func (p Program) once(ctx context.Context, in io.Reader, out io.Writer) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := p.command()
	said := newSayings(p)
	defer said.close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = in, out, said, closeTime
	if err := cmd.Start(); err != nil {
		return err
	}
	forget := context.AfterFunc(ctx, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	defer forget()
	return cmd.Wait()
}

// Close has nothing to end: nothing outlives its event.
func (c *command) Close() error { return nil }

// limited keeps what a program prints, up to MaxLine bytes.
type limited struct {
	bytes.Buffer
	over bool
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), MaxLine-l.Len())
	l.over = l.over || n < len(p)
	l.Buffer.Write(p[:n])
	return len(p), nil
}

// fill replaces ${name} within the words of a template; what a value holds is not looked at again.
func fill(words []string, e *Event) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = fillWord(w, e)
	}
	return out
}

func fillWord(word string, e *Event) string {
	var b strings.Builder
	for {
		before, rest, open := strings.Cut(word, "${")
		name, after, closed := strings.Cut(rest, "}")
		if !open || !closed {
			b.WriteString(word)
			return b.String()
		}
		b.WriteString(before)
		if value, ok := variable(e, name); ok {
			b.WriteString(value)
		} else {
			b.WriteString("${" + name + "}")
		}
		word = after
	}
}

// variable is the value of a name of a template (sr_hooks(7), CMD).
func variable(e *Event, name string) (string, bool) {
	if header, ok := strings.CutPrefix(name, "header."); ok {
		if e.Announcement == nil {
			return "", true
		}
		return fmt.Sprint(orEmpty(allHeaders(e.Announcement)[header])), true
	}
	if !config.HookVariable(name) {
		return "", false
	}
	r := show(e, nil)
	return map[string]string{"event": r.Event, "topic": r.Topic, "pubtime": r.PubTime, "baseurl": r.BaseURL, "relpath": r.RelPath,
		"new_dir": r.NewDir, "new_file": r.NewFile, "file": r.File, "url": r.URL}[name], true
}

func orEmpty(v any) any {
	if v == nil {
		return ""
	}
	return v
}
