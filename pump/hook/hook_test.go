package hook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"srpump/post"
	"srpump/pump/config"
	"srpump/pump/hook"
)

// A bed is a configuration with hooks, and what they log.
type bed struct {
	*testing.T
	dir string
	log *logged
}

type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newBed(t *testing.T) *bed { return &bed{t, t.TempDir(), new(logged)} }

// script writes a program and returns its path.
func (b *bed) script(name, text string) string {
	b.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		b.Fatal(err)
	}
	return path
}

// hooks reads a configuration of sr_subscribe.
func (b *bed) hooks(lines ...string) (*hook.Set, error) {
	b.Helper()
	path := filepath.Join(b.dir, "t.conf")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	c, problems := config.Load(config.Request{Preset: config.Subscribe, Env: config.Env{Home: b.dir, Cwd: b.dir}, ConfigArg: path})
	if config.Failed(problems) {
		b.Fatal(problems)
	}
	return hook.New(c, hook.Builtins(), hook.Env{Dir: b.dir, State: filepath.Join(b.dir, "state"), Log: slog.New(slog.NewTextHandler(b.log, nil)), Now: time.Now})
}

// chain is the hooks of one line at its own point.
func (b *bed) chain(lines ...string) *hook.Chain {
	b.Helper()
	s, err := b.hooks(lines...)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	point, _, _ := strings.Cut(lines[0], " ")
	return s.At(point)
}

func event(name string) *hook.Event {
	return &hook.Event{
		Announcement: &post.Announcement{Topic: "v02.post.a", Time: post.At(time.Unix(1e9, 0)), Base: "http://h/", Path: "a/" + name,
			Sum: post.OfName(name), Headers: map[string]any{"source": "s", "n": int64(5)}},
		Root: "/data", Dir: "/data/a", File: name, Local: "/data/a/" + name,
	}
}

var odd = []string{"-rf", "; rm -rf $HOME", "a\nb", `q"uo'te`, "`id`", "$(id)", "${file}", "ü", "\xff\xfe a\xc3"}

// What a co-process gives back unchanged is unchanged, whatever the name.
func TestExecShowsAndTakesNames(t *testing.T) {
	b := newBed(t)
	c := b.chain("on_message exec:cat")
	for _, name := range odd {
		e, want := event(name), event(name)
		ok, err := c.Run(context.Background(), e)
		if !ok || err != nil {
			t.Fatalf("%q: %v, %v", name, ok, err)
		}
		if e.File != name || e.Announcement.Path != want.Announcement.Path || e.Announcement.Sum != want.Announcement.Sum ||
			e.Announcement.Headers["n"] != int64(5) || e.Dir != "/data/a" {
			t.Errorf("%q became %+v of %+v", name, e, e.Announcement)
		}
	}
}

// A path JSON has no room for is shown in its bytes as well, and only such a path.
func TestExecShowsBytes(t *testing.T) {
	b := newBed(t)
	c := b.chain(b.loop("h", "printf '%s' \"$line\" >"+b.dir+"/shown; printf '%s\\n' \"$line\""))
	for name, want := range map[string]string{"plain": "", "\xff\xfe": "L2RhdGEvYS///g=="} {
		e := event(name)
		e.Announcement.Headers = map[string]any{"h": name}
		if ok, err := c.Run(context.Background(), e); !ok || err != nil || e.Announcement.Headers["h"] != name {
			t.Errorf("%q: %v, %v, %+v", name, ok, err, e.Announcement)
		}
		shown, _ := os.ReadFile(filepath.Join(b.dir, "shown"))
		var got struct {
			Bytes string `json:"file_base64"`
		}
		if err := json.Unmarshal(shown, &got); err != nil || got.Bytes != want {
			t.Errorf("%q was shown as %s", name, shown)
		}
	}
}

// A template is cut into words before names come in, and no shell sees them.
func TestCmdTakesNamesAsTheyAre(t *testing.T) {
	b := newBed(t)
	args := b.script("args", "#!/bin/sh\nprintf '%s\\0' \"$#\" \"$@\" \"$SR_RELPATH\" \"$SR_HEADER_source\" >"+b.dir+"/out\n")
	c := b.chain("on_file cmd:" + args + " ${file} 'x y${new_file}' plain")
	for _, name := range odd {
		if ok, err := c.Run(context.Background(), event(name)); !ok || err != nil {
			t.Fatalf("%q: %v, %v", name, ok, err)
		}
		got, _ := os.ReadFile(filepath.Join(b.dir, "out"))
		want := strings.Join([]string{"3", "/data/a/" + name, "x y" + name, "plain", "a/" + name, "s", ""}, "\x00")
		if string(got) != want {
			t.Errorf("%q: arguments are %q", name, got)
		}
	}
}

func TestCmdStatus(t *testing.T) {
	b := newBed(t)
	for status, want := range map[int]string{0: "true <nil>", 1: "false <nil>", 2: "false error"} {
		ok, err := b.chain(fmt.Sprintf("on_file cmd:sh -c 'exit %d'", status)).Run(context.Background(), event("f"))
		got := fmt.Sprint(ok, " <nil>")
		if err != nil {
			got = fmt.Sprint(ok, " error")
		}
		if got != want {
			t.Errorf("status %d: %s: %v", status, got, err)
		}
	}
}
