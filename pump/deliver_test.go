package pump

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"srpump/post"
	"srpump/pump/broker"
	"srpump/pump/config"
)

// sr_sender(1): the file below base_dir goes to its place below the destination, whatever URL
// it was announced with; directories are kept, modes and times too; the copy is announced.
func TestSender(t *testing.T) {
	h := newHouse(t)
	h.write("pub/sub/foo.txt", "hello world\n")
	got := h.capture("xcopy")
	_, stop := h.run(config.Sender, "-base_dir", h.dir+"/pub", "-destination", "file://"+h.dir+"/there", "-directory", "/in/${SOURCE}",
		"-pb", "sqlite://"+h.db, "-post_exchange", "xcopy", "-inflight", "umask")
	a := announced("http://nobody.example/data/", "/sub/foo.txt", "hello world\n", 1700000000)
	a.Headers = map[string]any{"source": "SRC", "mode": "640", "mtime": "20200102030405.25"}
	h.post("xpublic", a)
	h.until("the copy is announced", func() bool { return len(got()) == 1 })
	full := filepath.Join(h.dir, "there/in/SRC/sub/foo.txt")
	if fi, err := os.Stat(full); err != nil || fi.Mode().Perm() != 0o640 || fi.ModTime().UnixMilli() != 1577934245250 {
		t.Errorf("%v %v", fi, err)
	}
	if c := got()[0]; c.Base != post.LocalBase || c.Path != full || h.content("there/in/SRC/sub/foo.txt") != "hello world\n" || c.Topic != "v02.post.in.SRC.sub.foo.txt" {
		t.Errorf("%+v", c)
	}
	link := announced("http://nobody.example/", "sub/link", "", 1700000001)
	link.Sum, link.Headers = post.OfLink("foo.txt"), map[string]any{"source": "SRC", "link": "foo.txt"}
	gone := announced("http://nobody.example/", "sub/foo.txt", "", 1700000001)
	gone.Sum, gone.Headers = post.OfRemoval("foo.txt"), map[string]any{"source": "SRC"}
	h.post("xpublic", link, gone)
	h.until("both are executed there", func() bool { return len(got()) == 3 })
	stop()
	if target, err := os.Readlink(filepath.Join(h.dir, "there/in/SRC/sub/link")); target != "foo.txt" {
		t.Error(target, err)
	}
	if _, err := os.Stat(full); !os.IsNotExist(err) || h.content("pub/sub/foo.txt") != "hello world\n" {
		t.Error("the removal was not executed there, or here", err)
	}
}

// What is announced and not here yet is tried again; what would be taken from outside of
// base_dir, or put outside of the destination, is refused.
func TestSenderRetriesAndRefuses(t *testing.T) {
	h := newHouse(t)
	h.write("pub/here", "x")
	h.write("secret", "x")
	f, stop := h.run(config.Sender, "-base_dir", h.dir+"/pub", "-destination", "file://"+h.dir+"/there", "-attempts", "1", "-post_base_url", "http://x/")
	h.post("xpublic", announced("http://h/", "late", "it is here", 1700000000), announced("http://h/", "../secret", "x", 1700000000),
		announced("file:", h.dir+"/secret", "x", 1700000000))
	climbing := announced("http://h/", "here", "x", 1700000000)
	climbing.Headers["rename"] = "../../etc/passwd"
	h.post("xpublic", climbing)
	h.until("it is missing", func() bool { return f.Counters.Retried.Load() >= 1 && f.Counters.GivenUp.Load() == 3 })
	h.write("pub/late", "it is here")
	h.until("it is delivered", func() bool { return h.content("there/late") == "it is here" })
	stop()
	if entries, _ := os.ReadDir(h.dir + "/there"); len(entries) != 1 {
		t.Errorf("%v", entries)
	}
}

func TestSenderNeedsDestination(t *testing.T) {
	h := newHouse(t)
	for _, args := range [][]string{nil, {"-destination", "gopher://h/x"}, {"-destination", "file://elsewhere/x"}, {"-destination", "file:x"}, {"-destination", "ftp://u@h/x"}} {
		if _, err := NewFlow(h.config(config.Sender, args...), h.host()); err == nil || broker.Hint(err) != "" {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// sr_sender explain tells where at the server, and under which URL it is announced, without a password.
func TestSenderExplains(t *testing.T) {
	h := newHouse(t)
	h.credentials("ftp://u:s3cret@h/")
	c := h.config(config.Sender, "-destination", "ftp://u@h/in", "-base_dir", "/pub", "-directory", "${SOURCE}", "-pb", "sqlite://"+h.db, "-post_exchange", "xcopy")
	var got []string
	err := Explain(t.Context(), c, h.host(), `["v02.post.a", {"source": "S", "sum": "0,0"}, "20260101000000 http://x/ a/b%20c"]`, func(e *Explanation) {
		if e.Refused != nil || len(e.Posted) != 1 {
			t.Fatalf("%+v", e)
		}
		got = append(got, e.Source, e.Delivered, e.Posted[0].Line)
	})
	if want := []string{"file:///pub/a/b%20c", "ftp://u@h/in/S/a/b%20c", "20260101000000.00 ftp://u@h/in/ S/a/b%20c "}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q %v", got, err)
	}
}

// What is asked only to say what it would deliver changes nothing: neither there, nor in the queue,
// nor in its state.
func TestSimulate(t *testing.T) {
	h := newHouse(t)
	h.write("pub/foo", "x")
	args := []string{"-base_dir", h.dir + "/pub", "-destination", "file://" + h.dir + "/there", "-pb", "sqlite://" + h.db, "-post_exchange", "xcopy", "-suppress_duplicates", "on",
		"-reject", ".*private.*", "-accept", ".*"}
	_, stop := h.run(config.Sender, append(args, "-simulate")...)
	climbing := announced("http://h/", "foo", "x", 1700000000)
	climbing.Headers["rename"] = "../../etc/passwd"
	h.post("xpublic", announced("http://h/", "foo", "x", 1700000000), announced("http://h/", "private", "x", 1700000000), climbing, announced("http://h/", "gone", "x", 1700000000))
	h.until("all is said", func() bool { return strings.Count(h.log.String(), "would deliver") == 2 })
	stop()
	if log := h.log.String(); !strings.Contains(log, "url=file://"+h.dir+"/there/foo event=change") || !strings.Contains(log, "no such file") {
		t.Error("it is not said what and where")
	}
	if _, err := os.Stat(h.dir + "/there"); err == nil {
		t.Error("something is there")
	}
	if left, err := filepath.Glob(h.dir + "/.cache/sarra/sender/default/*"); err != nil || slices.ContainsFunc(left, func(f string) bool { return !strings.HasPrefix(filepath.Base(f), "sr_sender.") }) {
		t.Errorf("its state is %q, %v", left, err)
	}
	f, stop := h.run(config.Sender, args...)
	h.until("everything comes again", func() bool {
		n := &f.Counters
		return n.Fetched.Load() == 1 && n.Rejected.Load() == 1 && n.GivenUp.Load() == 1 && n.Retried.Load() == 1
	})
	stop()
	for _, with := range []string{"-save", "-restore", "-reset"} {
		if _, err := NewFlow(h.config(config.Sender, append(args, "-simulate", with)...), h.host()); !errors.Is(err, errSimulate) {
			t.Errorf("%s: %v", with, err)
		}
	}
}
