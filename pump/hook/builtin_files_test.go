package hook_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"srpump/partition"
	"srpump/post"
	"srpump/pump/config"
	"srpump/pump/hook"
)

// place puts a file where an event says its file goes.
func (b *bed) place(e *hook.Event, text string) string {
	b.Helper()
	e.Root = filepath.Join(b.dir, "data")
	e.Dir = filepath.Join(e.Root, "a")
	e.Local = filepath.Join(e.Dir, e.File)
	if err := os.MkdirAll(e.Dir, 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(e.Local, []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
	return e.Local
}

func (b *bed) read(path string) string {
	b.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	return string(data)
}

// later is how long an event is to wait, or 0.
func later(err error) time.Duration {
	var l *hook.LaterError
	if errors.As(err, &l) {
		return l.Wait
	}
	return 0
}

func TestDelay(t *testing.T) {
	b := newBed(t)
	lines := []string{"on_message msg_delay", "msg_delay 1h"}
	if ok, err := b.at(aged(50*time.Minute), lines...); ok || later(err) <= 9*time.Minute || later(err) > 10*time.Minute {
		t.Errorf("too young: %v, %v", ok, err)
	}
	if ok, err := b.at(aged(time.Hour), lines...); !ok || err != nil {
		t.Errorf("old enough: %v, %v", ok, err)
	}
	if ok, err := b.at(aged(-48*time.Hour), lines...); !ok || err != nil {
		t.Errorf("of the far future: %v, %v", ok, err)
	}
}

func TestFileDelay(t *testing.T) {
	b := newBed(t)
	e := event("f")
	path := b.place(e, "x")
	lines := []string{"on_message msg_fdelay", "msg_fdelay 1h"}
	if ok, err := b.at(e, lines...); ok || later(err) <= 50*time.Minute {
		t.Errorf("just written: %v, %v", ok, err)
	}
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	if ok, err := b.at(e, lines...); !ok || err != nil {
		t.Errorf("old: %v, %v", ok, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if ok, err := b.at(e, lines...); ok || err != nil {
		t.Errorf("gone: %v, %v", ok, err)
	}
}

// A file is deleted where the flow places it, or below base_dir; never outside, and no directory.
func TestDelete(t *testing.T) {
	b := newBed(t)
	e := event("f")
	path := b.place(e, "x")
	for range 2 { // the second time it is gone already
		if ok, err := b.at(e, "on_message msg_delete"); ok || err != nil {
			t.Errorf("%v, %v", ok, err)
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("it is still there: %v", err)
		}
	}
	outside := filepath.Join(b.dir, "precious")
	b.place(e, "x")
	if err := errors.Join(os.WriteFile(outside, nil, 0o600), os.Symlink(b.dir, filepath.Join(e.Root, "link")), os.Mkdir(filepath.Join(e.Dir, "d"), 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"../precious", "link/precious", "a/d", "a/../../precious"} {
		e := event("f")
		e.Announcement.Path, e.Root, e.Dir, e.File = name, "", "", ""
		if ok, _ := b.at(e, "on_message msg_delete", "base_dir "+filepath.Join(b.dir, "data")); ok {
			t.Errorf("%s: passed", name)
		}
	}
	for _, kept := range []string{outside, filepath.Join(e.Dir, "d"), filepath.Join(e.Dir, "f")} {
		if _, err := os.Stat(kept); err != nil {
			t.Error(err)
		}
	}
	e = event("f")
	e.Root, e.Dir, e.File = "", "", ""
	if ok, err := b.at(e, "on_message msg_delete", "base_dir "+filepath.Join(b.dir, "data")); ok || err != nil {
		t.Errorf("below base_dir: %v, %v", ok, err)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "data/a/f")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("below base_dir: %v", err)
	}
	if ok, err := b.at(e, "on_message msg_delete"); ok || !errors.Is(err, hook.ErrAnswer) {
		t.Errorf("nowhere: %v, %v", ok, err)
	}
}

func TestStdFiles(t *testing.T) {
	b := newBed(t)
	e := event("f")
	b.place(e, "one\ntwo\n")
	ok, err := b.at(e, "on_message msg_stdfiles", "msg_stdfiles_command wc -l")
	if !ok || err != nil || !strings.Contains(b.log.String(), "line=2") {
		t.Errorf("%v, %v: %s", ok, err, b.log)
	}
	if ok, err := b.at(e, "on_message msg_stdfiles", "msg_stdfiles_command grep -q three"); ok || err != nil {
		t.Errorf("status 1: %v, %v", ok, err)
	}
	if ok, err := b.at(e, "on_message msg_stdfiles", "msg_stdfiles_command sh -c 'exit 3'"); ok || err == nil {
		t.Errorf("status 3: %v, %v", ok, err)
	}
	if ok, err := b.at(event("f"), "on_message msg_stdfiles", "msg_stdfiles_command wc"); ok || err != nil {
		t.Errorf("no file: %v, %v", ok, err)
	}
}

// Paths go to who reads, whole lines only, and nobody waits for a reader.
func TestRxPipe(t *testing.T) {
	b := newBed(t)
	pipe := filepath.Join(b.dir, "rx")
	c := b.chain("on_file file_rxpipe", "file_rxpipe_name "+pipe)
	show := func(name string) {
		t.Helper()
		if ok, err := c.Run(context.Background(), event(name)); !ok || err != nil {
			t.Fatalf("%s: %v, %v", name, ok, err)
		}
	}
	open := func() int {
		t.Helper()
		fd, err := unix.Open(pipe, unix.O_RDONLY|unix.O_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		return fd
	}
	got := func(fd int) string {
		buf := make([]byte, 1<<20)
		n, _ := unix.Read(fd, buf)
		return string(buf[:max(n, 0)])
	}
	show("unread")
	fd := open()
	show("one")
	show("two\nlines")
	show("three")
	if s := got(fd); s != "/data/a/one\n/data/a/three\n" {
		t.Errorf("read %q", s)
	}
	unix.Close(fd)
	show("unread too") // and no signal ends us
	fd = open()
	show("four")
	if s := got(fd); s != "/data/a/four\n" {
		t.Errorf("read %q", s)
	}
	for range 20000 { // more than a pipe holds
		show("full")
	}
	if s := got(fd); strings.Trim(s, "/datful\n") != "" || !strings.HasSuffix(s, "/data/a/full\n") {
		t.Errorf("of a full pipe: %.100q", s)
	}
	unix.Close(fd)
	if said := b.log.String(); strings.Count(said, "nobody reads it") != 2 || strings.Count(said, "it is full") != 1 || strings.Count(said, "read again") != 2 {
		t.Errorf("log:\n%s", said)
	}
}

func TestRxPipeIsNoFile(t *testing.T) {
	b := newBed(t)
	path := filepath.Join(b.dir, "file")
	if err := os.WriteFile(path, []byte("keep"), 0o600); err != nil {
		t.Fatal(err)
	}
	if ok, err := b.at(event("f"), "on_file file_rxpipe", "file_rxpipe_name "+path); !ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	if b.read(path) != "keep" || !strings.Contains(b.log.String(), "not a named pipe") {
		t.Errorf("log: %s", b.log)
	}
}

// What a scanner calls infected is kept aside and goes no further, wherever the hook is named.
func TestScan(t *testing.T) {
	for _, point := range []string{hook.OnData, hook.OnPart} {
		b := newBed(t)
		scanner := b.script("scan", "#!/bin/sh\ngrep -q BROKEN \"$1\" && exit 2\n! grep -q EICAR \"$1\"\n")
		s, err := b.hooks(point+" part_clamav_scan", "part_clamav_scan_command "+scanner)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		c := s.At(hook.OnData)
		for text, want := range map[string]string{"clean": "true", "an EICAR": "false", "BROKEN": "error"} {
			e := event("f")
			b.place(e, text)
			ok, err := c.Run(context.Background(), e)
			got := map[bool]string{true: "true", false: "false"}[ok]
			if err != nil {
				got = "error"
			}
			if got != want {
				t.Errorf("%s, %q: %s, %v", point, text, got, err)
			}
		}
		kept, _ := filepath.Glob(filepath.Join(b.dir, "state/infected/*"))
		if len(kept) != 2 || b.read(kept[0]) != "an EICAR" || b.read(kept[1]) != "a/f\n" {
			t.Errorf("kept are %q", kept)
		}
	}
}

// Of what is infected the latest hundred are kept, with their names.
func TestScanKeepsTheLatest(t *testing.T) {
	b := newBed(t)
	s, err := b.hooks("on_data part_clamav_scan", "part_clamav_scan_command sh -c 'exit 1'")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	infected := filepath.Join(b.dir, "state/infected")
	for i := range 105 {
		e := event(fmt.Sprint("f", i))
		b.place(e, fmt.Sprint("text ", i))
		if ok, err := s.At(hook.OnData).Run(context.Background(), e); ok || err != nil {
			t.Fatal(ok, err)
		}
		made, _ := filepath.Glob(filepath.Join(infected, "file-*"))
		for _, path := range made { // as if each were a minute older than the next
			if text, name := b.read(path), strings.HasSuffix(path, ".name"); !name && text == fmt.Sprint("text ", i) {
				at := time.Now().Add(time.Duration(i-200) * time.Minute)
				if err := os.Chtimes(path, at, at); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	kept, _ := filepath.Glob(filepath.Join(infected, "*"))
	all := ""
	for _, path := range kept {
		all += b.read(path) + ";"
	}
	if len(kept) != 200 || strings.Contains(all, "text 4;") || !strings.Contains(all, "text 5;") || !strings.Contains(all, "f104\n") {
		t.Errorf("%d files are kept: %s", len(kept), all)
	}
}

// Owners are announced, and given where they are known; root's files only to who is written down.
func TestChown(t *testing.T) {
	b := newBed(t)
	e := event("f")
	path := b.place(e, "x")
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := b.at(e, "on_post root_chown"); !ok || err != nil || !strings.HasPrefix(e.Announcement.Header("ownership"), me.Username+":") {
		t.Errorf("announced %q: %v, %v", e.Announcement.Header("ownership"), ok, err)
	}
	give := func(said string, lines ...string) uint32 {
		t.Helper()
		e.Announcement.SetHeader("ownership", said)
		if ok, err := b.at(e, append([]string{"on_file root_chown"}, lines...)...); !ok || err != nil {
			t.Errorf("%s: %v, %v", said, ok, err)
		}
		fi, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return fi.Sys().(*syscall.Stat_t).Uid
	}
	before := give("nobody-of-this-name:x")
	if os.Geteuid() != 0 {
		t.Skip("not root: nothing is given to anybody")
	}
	if uid := give("daemon:daemon"); uid == before {
		t.Error("not given")
	}
	if uid := give("root:root"); uid == 0 {
		t.Error("given to root")
	}
	mapping := filepath.Join(b.dir, "map")
	if err := os.WriteFile(mapping, []byte("# theirs ours\n\nalice:staff root:root\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if uid := give("root:root", "mapping_file "+mapping); uid == 0 {
		t.Error("given to who is not written down")
	}
	if uid := give("alice:staff", "mapping_file "+mapping); uid != 0 {
		t.Error("not mapped")
	}
}

// A limit of one a second lets one pass, and the next waits for as long as it is asked to.
func TestRateLimit(t *testing.T) {
	c := newBed(t).chain("on_post post_rate_limit")
	if ok, err := c.Run(context.Background(), event("f")); !ok || err != nil {
		t.Errorf("the first: %v, %v", ok, err)
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if ok, err := c.Run(over, event("f")); ok || !errors.Is(err, context.Canceled) {
		t.Errorf("the second: %v, %v", ok, err)
	}
}

func TestTotals(t *testing.T) {
	b := newBed(t)
	for run := range 2 {
		s, err := b.hooks("on_message msg_total_save", "msg_total_interval 1h", "msg_total_maxlag 10")
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			e := aged(time.Minute)
			e.Announcement.Block = partition.WholeFile(7)
			if ok, err := s.At(hook.OnMessage).Run(context.Background(), e); !ok || err != nil {
				t.Errorf("%v, %v", ok, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if said, want := b.log.String(), []string{"count=3 bytes=21", "count=6 bytes=42"}[run]; !strings.Contains(said, want) || !strings.Contains(said, "lag is high") {
			t.Errorf("run %d: %s", run, said)
		}
	}
	kept := filepath.Join(b.dir, "state/msg_total.json")
	if err := os.WriteFile(kept, []byte(`{"count":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if ok, err := b.at(aged(0), "on_message msg_total_save", "msg_total_interval none"); !ok || err != nil || !strings.Contains(b.log.String(), "count=1 ") {
		t.Errorf("a damaged file: %v, %v: %s", ok, err, b.log)
	}
}

func TestAges(t *testing.T) {
	b := newBed(t)
	e := aged(time.Hour)
	e.Announcement.SetHeader("mtime", post.FormatTime(time.Now().Add(-2*time.Hour)))
	for _, line := range []string{"on_file file_age", "on_message msg_print_lag"} {
		if ok, err := b.at(e, line); !ok || err != nil {
			t.Errorf("%s: %v, %v", line, ok, err)
		}
	}
	if said := b.log.String(); !strings.Contains(said, `msg="file age" path=/data/a/f seconds=720`) || !strings.Contains(said, "msg=lag path=a/f") || !strings.Contains(said, "seconds=360") {
		t.Error(said)
	}
}

// A program fetches what is large and of its schemes; it is given no password.
func TestAccel(t *testing.T) {
	b := newBed(t)
	args := b.script("args", "#!/bin/sh\nprintf '%s\\n' \"$@\" >"+b.dir+"/out\nprintf fetched >\"$SR_FILE\"\n")
	for _, c := range []struct{ name, url, template, want string }{
		{"accel_wget", "https://u:pw@h/a%20b", "", "-q\n-O\nFILE\n--\nhttps://u@h/a%20b\n"},
		{"accel_wget", "http://h/b", " -x %s -o %d", "-x\nhttp://h/b\n-o\nFILE\n"},
		{"download_scp", "sftp://u:pw@h:2222/d/[x]*.txt", "", "-q\n-B\n--\nscp://u@h:2222//d/%5C%5Bx%5C%5D%5C%2A.txt\nFILE\n"},
		{"accel_cp", "file:///d/a%20b", "", "--\n/d/a b\nFILE\n"},
	} {
		e := event("f")
		file := b.place(e, "")
		e.URL = c.url
		ok, err := b.at(e, "do_download "+c.name, c.name+"_threshold 0", c.name+"_command "+args+c.template)
		if got := strings.ReplaceAll(b.read(filepath.Join(b.dir, "out")), file, "FILE"); !ok || err != nil || !strings.EqualFold(got, c.want) || b.read(file) != "fetched" {
			t.Errorf("%s %s: %q, %v, %v", c.name, c.url, got, ok, err)
		}
	}
}

// cp itself, of a name no shell would take.
func TestAccelCopies(t *testing.T) {
	b := newBed(t)
	e := event("; rm")
	file := b.place(e, "")
	source := filepath.Join(b.dir, "-rf $HOME")
	text := bytes.Repeat([]byte("x"), 3<<20)
	if err := os.WriteFile(source, text, 0o600); err != nil {
		t.Fatal(err)
	}
	e.URL = "file://" + strings.ReplaceAll(source, " ", "%20")
	for _, name := range []string{"accel_cp", "download_dd"} {
		if ok, err := b.at(e, "do_download "+name, name+"_threshold 0"); !ok || err != nil || b.read(file) != string(text) {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
		if err := os.Truncate(file, 0); err != nil {
			t.Fatal(err)
		}
	}
}

// What counts says so in the words of v02 where a log is in its form.
func TestTotalsInTheFormOfV02(t *testing.T) {
	lines := make(chan string, 1)
	b, _ := config.FindBuiltin("msg_total")
	own, err := b.Read(map[string][]string{"msg_total_interval": {"none"}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := hook.Builtins()["msg_total"](hook.Env{Own: own, Log: slog.New(oldLines{slog.DiscardHandler, lines}), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := h.Run(context.Background(), aged(0)); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if got := <-lines; !strings.HasPrefix(got, "msg_total: 1 messages received: 1 msg/s, 0 bytes/s, lag: ") {
		t.Errorf("%q", got)
	}
}

// oldLines takes what records say in the form of v02.
type oldLines struct {
	slog.Handler
	lines chan string
}

func (o oldLines) Enabled(context.Context, slog.Level) bool { return true }

func (o oldLines) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if l, ok := a.Value.Any().(interface{ OldLine() string }); ok && a.Key == hook.OldLineKey {
			o.lines <- l.OldLine()
		}
		return true
	})
	return nil
}
