package pump

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"srpump/post"
	"srpump/pump/broker"
	"srpump/pump/config"
	"srpump/pump/retry"
)

// saved is the path of the save file of a run in the foreground.
func (h *house) saved(p config.Preset, args ...string) string {
	return saveFile(h.config(p, args...), h.host(), 0)
}

// lines are those of a file; none when it is not there.
func (h *house) lines(path string) []string {
	b, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		h.t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

func (h *house) writeLines(path string, lines ...string) {
	h.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o775); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) gone(path string) func() bool {
	return func() bool { _, err := os.Stat(path); return os.IsNotExist(err) }
}

// ends runs a flow that ends by itself.
func (h *house) ends(p config.Preset, args ...string) error {
	h.t.Helper()
	f, err := NewFlow(h.config(p, args...), h.host())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return f.Run(ctx)
}

// sr_options(5), save: what comes in is written to the file and nothing else is done with it, whatever the
// rules; restore works on it and removes the file.
func TestSaveAndRestore(t *testing.T) {
	h := newHouse(t)
	web := h.web(map[string]string{"/d/one": "one", "/a b#c": "two"})
	args := []string{"-directory", h.dir + "/in", "-reject", ".*/no", "-accept", ".*"}
	path := h.saved(config.Subscribe)
	_, stop := h.run(config.Subscribe, append(args, "-save")...)
	one, two, no := announced(web.URL+"/", "d/one", "one", 1700000000), announced(web.URL+"/", "a b#c", "two", 1700000001), announced(web.URL+"/", "no", "no", 1700000002)
	one.Headers = map[string]any{"x_number": int32(7), "source": "SRC"}
	h.post("xpublic", one, two, no)
	h.until("all are saved", func() bool { return len(h.lines(path)) == 3 })
	stop()
	var line []any
	if err := json.Unmarshal([]byte(h.lines(path)[1]), &line); err != nil || len(line) != 4 ||
		line[0] != "20231114221321.00" || line[1] != web.URL+"/" || line[2] != "a b#c" || line[3].(map[string]any)["sum"] != two.Sum.String() {
		t.Errorf("%v %v", line, err)
	}
	if _, err := os.Stat(h.dir + "/in"); !os.IsNotExist(err) {
		t.Error("something was fetched")
	}
	f, stop := h.run(config.Subscribe, append(args, "-restore")...)
	h.until("the file is gone", h.gone(path))
	stop()
	if h.content("in/one") != "one" || h.content("in/a b#c") != "two" || f.Counters.Rejected.Load() != 1 || f.Counters.Malformed.Load() != 0 {
		t.Errorf("%q %q", h.content("in/one"), h.content("in/a b#c"))
	}
}

// An announcement comes out of a save file as it went in: topic, exchange and headers of any type.
func TestSavedKeepsAll(t *testing.T) {
	h, there := newHouse(t), newHouse(t)
	got := there.capture("xin")
	args := []string{"-exchange", "xin", "-pb", "sqlite://" + there.db}
	_, stop := h.run(config.Shovel, append(args, "-save")...)
	a := announced("http://h/", "d/\xff%20x", "1", 1700000000)
	a.Topic, a.Headers = "v02.post.elsewhere", map[string]any{"x_number": int32(7), "long": strings.Repeat("x", 200)}
	b := announced("http://h/", "d/x", "1", 1700000001)
	b.Topic, b.Sum = "v02.post.d", post.Fingerprint{Method: "a", Value: "v"}
	h.post("xin", a, b)
	path := h.saved(config.Shovel)
	h.until("both are saved", func() bool { return len(h.lines(path)) == 2 })
	stop()
	_, stop = h.run(config.Shovel, append(args, "-restore")...)
	h.until("both are moved", func() bool { return len(got()) == 2 })
	stop()
	for i, want := range []*post.Announcement{a, b} {
		if g := got()[i]; g.Topic != want.Topic || g.Path != want.Path || g.Time.String() != want.Time.String() || g.Sum != want.Sum || g.Block != want.Block ||
			fmt.Sprint(g.Headers["x_number"], g.Headers["long"]) != fmt.Sprint(want.Headers["x_number"], want.Headers["long"]) || g.Headers["_retry_topic"] != nil {
			t.Errorf("%+v", g)
		}
	}
}

// Files of v02 are read, of all its instances and in both forms; what holds no announcement is kept in the
// dead-letter file with its place, a last line that was cut too.
func TestRestoreReadsV02(t *testing.T) {
	h := newHouse(t)
	got := h.capture("xout")
	cfg := h.config(config.Winnow, "-exchange", "xin", "-post_exchange", "xout")
	first, second := saveFile(cfg, h.host(), 1), saveFile(cfg, h.host(), 2)
	h.writeLines(first, `["20231114221320.5", "http://h/", "/d/a b", {"parts": "1,1,1,0,0", "sum": "d,c4ca4238a0b923820dcc509a6f75849b", "source": "SRC"}]`,
		`{"not": "a line"}`, "", `["20231114", "http://h/", "/d/x", {}]`, `["20231114221320.5", "http://h/", "/d/to`)
	h.writeLines(second, `["v02.post.d", {"parts": "1,1,1,0,0", "sum": "d,c4ca4238a0b923820dcc509a6f75849b"}, "20231114221321.5 http://h/ /d/c%20d"]`)
	f, stop := h.run(config.Winnow, "-exchange", "xin", "-post_exchange", "xout", "-restore")
	h.until("both files are gone", func() bool { return h.gone(first)() && h.gone(second)() })
	h.until("both are announced", func() bool { return len(got()) == 2 })
	stop()
	if a := got()[0]; a.Path != "/d/a b" || a.Topic != "v02.post.d.a%20b" || a.Header("source") != "SRC" || a.Time.String() != "20231114221320.5" {
		t.Errorf("%+v", a)
	}
	if a := got()[1]; a.Path != "/d/c d" || a.Topic != "v02.post.d" {
		t.Errorf("%+v", a)
	}
	dead := h.lines(f.DeadLetters())
	if len(dead) != 3 || !strings.Contains(dead[0], first+":2: ") || !strings.Contains(dead[1], first+":4: ") || !strings.Contains(dead[2], first+":5: ") || !strings.Contains(dead[2], `/d/to`) {
		t.Errorf("%q", dead)
	}
}

// A file is there until everything in it is done: a run that ends before that leaves it, and the next one does
// all of it again.
func TestRestoreRepeatsAfterStop(t *testing.T) {
	h := newHouse(t)
	url, release := h.stalled()
	good := h.web(map[string]string{"/good": "good"})
	path := h.saved(config.Subscribe)
	args := []string{"-directory", h.dir + "/in"}
	_, stop := h.run(config.Subscribe, append(args, "-save")...)
	h.post("xpublic", announced(good.URL+"/", "good", "good", 1700000000), announced(url, "slow", "slow", 1700000001))
	h.until("both are saved", func() bool { return len(h.lines(path)) == 2 })
	stop()
	f, stop := h.run(config.Subscribe, append(args, "-restore")...)
	h.until("one is done", func() bool { return f.Counters.Fetched.Load() == 1 })
	stop()
	if len(h.lines(path)) != 2 {
		t.Fatal("the file was changed")
	}
	release()
	_, stop = h.run(config.Subscribe, append(args, "-restore")...)
	h.until("the file is gone", h.gone(path))
	stop()
	if h.content("in/good") != "good" || h.content("in/slow") != "slow" {
		t.Errorf("%q %q", h.content("in/good"), h.content("in/slow"))
	}
}

// What a kill cut off a save file stays on a line of its own.
func TestSaveBehindTornLine(t *testing.T) {
	h := newHouse(t)
	path := h.saved(config.Subscribe, "-save_file", h.dir+"/kept")
	if filepath.Base(path) != "kept"+filepath.Base(h.saved(config.Subscribe))[len(filepath.Base(h.saved(config.Subscribe)))-10:] {
		t.Errorf("%q", path)
	}
	h.writeLines(path, `["20231114`)
	_, stop := h.run(config.Subscribe, "-save", "-save_file", h.dir+"/kept")
	h.post("xpublic", announced("http://h/", "one", "one", 1700000000))
	h.until("it is saved", func() bool { l := h.lines(path); return len(l) == 2 && strings.HasSuffix(l[1], "]") })
	stop()
	if l := h.lines(path); l[0] != `["20231114` {
		t.Errorf("%q", l)
	}
}

// What one process adds to, another must not restore and remove, nor cut to what it knows of it.
func TestSaveFileHasOneProcess(t *testing.T) {
	h := newHouse(t)
	path := h.saved(config.Subscribe)
	_, stop := h.run(config.Subscribe, "-save")
	h.post("xpublic", announced("http://h/", "one", "one", 1700000000))
	h.until("it is saved", func() bool { return len(h.lines(path)) == 1 })
	if _, err := openSaved(path); !errors.Is(err, retry.ErrSaveBusy) {
		t.Errorf("restored: %v", err)
	}
	if _, err := retry.OpenSave(path); !errors.Is(err, retry.ErrSaveBusy) {
		t.Errorf("saved to: %v", err)
	}
	stop()
	s, err := openSaved(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := retry.OpenSave(path); !errors.Is(err, retry.ErrSaveBusy) {
		t.Errorf("saved to while restored: %v", err)
	}
	if err := errors.Join(s.remove(), s.file.Close()); err != nil {
		t.Fatal(err)
	}
	again, err := retry.OpenSave(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// While nothing can be written nothing is acknowledged, and it all comes again.
func TestSaveThatCannotBeWritten(t *testing.T) {
	h := newHouse(t)
	path := h.saved(config.Subscribe)
	f, stop := h.run(config.Subscribe, "-save")
	if err := f.saver.file.Close(); err != nil {
		t.Fatal(err)
	}
	h.post("xpublic", announced("http://h/", "one", "one", 1700000000))
	h.until("it is not saved", func() bool { return strings.Contains(h.log.String(), "not saved, trying again") })
	stop()
	_, stop = h.run(config.Subscribe, "-save")
	h.until("it is saved", func() bool { return strings.HasSuffix(h.lines(path)[0], "]") })
	stop()
}

// sr_options(5), restore_to_queue: one queue gets what was saved, nobody else does, and the command ends;
// the exchange it took is gone.
func TestRestoreToQueue(t *testing.T) {
	h := newHouse(t)
	others, mine := h.capture("xpublic"), h.capture("xelse")
	path := h.saved(config.Subscribe)
	_, stop := h.run(config.Subscribe, "-save")
	h.post("xpublic", announced("http://h/", "d/one", "one", 1700000000), announced("http://h/", "d/two", "two", 1700000001))
	h.until("both are saved", func() bool { return len(h.lines(path)) == 2 })
	stop()
	if err := h.ends(config.Subscribe, "-restore", "-restore_to_queue", "q_missing"); err == nil || len(h.lines(path)) != 2 {
		t.Fatalf("%v", err)
	}
	if err := h.ends(config.Subscribe, "-restore", "-r2q", "capture-xelse"); err != nil {
		t.Fatal(err)
	}
	h.until("they are there", func() bool { return len(mine()) == 2 })
	if !h.gone(path)() || len(others()) != 2 || mine()[0].Topic != "v02.post.d.one" {
		t.Errorf("%d others, %+v", len(others()), mine()[0])
	}
	if left := h.restoreExchanges(); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}

// restoreExchanges are the exchanges of restore_to_queue the broker has, by the log of who made them.
func (h *house) restoreExchanges() (left []string) {
	c := h.conn()
	for _, w := range strings.Fields(h.log.String()) {
		if name, ok := strings.CutPrefix(w, "exchange="); ok && strings.Contains(name, ".restore.") &&
			c.DeclareExchange(context.Background(), broker.Exchange{Name: name, Passive: true}) == nil {
			left = append(left, name)
		}
	}
	return left
}

// Posters give one queue what is there, known or not.
func TestPostToQueue(t *testing.T) {
	h := newHouse(t)
	others, mine := h.capture("xpublic"), h.capture("xelse")
	h.writeLines(h.dir+"/one", "one")
	for range 2 {
		p, err := NewPoster(h.config(config.Post, "-restore_to_queue", "capture-xelse", "-suppress_duplicates", "1h", "-post_base_dir", h.dir), h.host())
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Post(t.Context(), []string{"one"}); err != nil {
			t.Fatal(err)
		}
	}
	h.until("it is there twice", func() bool { return len(mine()) == 2 })
	if len(others()) != 0 {
		t.Errorf("%+v", others())
	}
	if left := h.restoreExchanges(); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}

func TestSaveRefusals(t *testing.T) {
	h := newHouse(t)
	for _, args := range [][]string{{"-save", "-restore"}, {"-restore_to_queue", "q"}, {"-save", "-restore_to_queue", "q"}} {
		if _, err := NewFlow(h.config(config.Subscribe, args...), h.host()); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}

// Nothing to restore is no error, and neither is a directory of state that is not there yet.
func TestNothingToRestore(t *testing.T) {
	h := newHouse(t)
	_, stop := h.run(config.Subscribe, "-restore")
	stop()
	if _, err := saveFiles(h.config(config.Subscribe, "-save_file", h.dir+"/none/x"), h.host()); !os.IsNotExist(err) && err != fs.ErrNotExist {
		t.Error(err)
	}
}
