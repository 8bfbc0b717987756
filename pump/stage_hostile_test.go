package pump

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// deadLetters is the file of what a flow gave up.
func (h *house) deadLetters(f *Flow) string {
	return h.content(strings.TrimPrefix(f.DeadLetters(), h.dir))
}

// sr_hooks(7), STAGES: what the filter says of an input is what becomes of it.
func TestStageAnswers(t *testing.T) {
	h := newHouse(t)
	got := h.capture("xmade")
	f, _ := h.staged(1, 8)
	h.announceFiles(map[string]string{"drop": "drop", "fault": "fault", "later": "later", "good": "good"})
	h.atRest(f, 4, got)
	if n := f.Count(); len(got()) != 1 || n["dropped"] != 1 || n["given_up"] != 1 || n["retried"] != 1 || n["staged"] != 5 {
		t.Errorf("%d announced, %v", len(got()), n)
	}
	if dead := h.deadLetters(f); strings.Count(dead, "\n") != 1 || !strings.Contains(dead, "the stage can make nothing of it: for a") {
		t.Error(dead)
	}
	if strings.Contains(h.log.String(), "\x1b") || strings.Contains(h.log.String(), `\x1b`) {
		t.Error("a filter's words reach the log as they are")
	}
}

// Each of these is the end of its filter, or an output that is refused. It is given up, and takes no other with it.
func TestStageHostile(t *testing.T) {
	for name, evil := range map[string]string{
		"die": "die", "garbage": "garbage", "unknown": "unknown", "long": "long", "twice": "twice", "hang": "hang",
		"outside": "say /etc/passwd", "climbing": "say ../secret", "root": "say .", "link": "say link", "linked": "say linkdir/secret", "directory": "say dir",
		"pipe": "say pipe", "missing": "say nothing-there", "NUL": "say a\x00b",
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			got := h.capture("xmade")
			must := func(err error) {
				if err != nil {
					t.Fatal(err)
				}
			}
			out := filepath.Join(h.dir, "out")
			must(os.MkdirAll(filepath.Join(out, "dir"), 0o755))
			must(os.WriteFile(filepath.Join(h.dir, "secret"), []byte("secret"), 0o600))
			must(os.Symlink(filepath.Join(h.dir, "secret"), filepath.Join(out, "link")))
			must(os.Symlink(h.dir, filepath.Join(out, "linkdir")))
			must(mkfifo(filepath.Join(out, "pipe")))
			limit := "none"
			if name == "hang" {
				limit = "1"
			}
			f, _ := h.staged(1, 8, "-stage_timeout", limit, "-retry_permanent", "2")
			files := map[string]string{"evil": evil}
			for i := range 30 {
				files[fmt.Sprint("good", i)] = fmt.Sprint("good ", i)
			}
			h.announceFiles(files)
			h.atRest(f, 31, got)
			made := make(map[string]bool)
			for _, a := range got() {
				made[a.Path] = true
			}
			if len(made) != 30 || made["evil.made"] || f.Counters.GivenUp.Load() != 1 {
				t.Errorf("%d made, %d given up", len(made), f.Counters.GivenUp.Load())
			}
			if dead := h.deadLetters(f); strings.Count(dead, "\n") != 1 || !strings.Contains(dead, "evil") {
				t.Error(dead)
			}
		})
	}
}

// A filter that cannot be started costs no input; nor does one that ends without reading any.
func TestStageUseless(t *testing.T) {
	h := newHouse(t)
	script := filepath.Join(h.dir, "filter")
	write := func(text string) {
		if err := os.WriteFile(script+".new", []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(script+".new", script); err != nil {
			t.Fatal(err)
		}
	}
	write("exit 1\n")
	got := h.capture("xmade")
	f, _ := h.staged(1, 1, "-stage", script, "-stage_attempts", "100")
	h.announceFiles(map[string]string{"a": "a", "b": "b"})
	h.until("it is started again", func() bool { return strings.Count(h.log.String(), "stage ended, starting it again") > 1 })
	if err := os.Remove(script); err != nil {
		t.Fatal(err)
	}
	h.until("it is not there", func() bool { return strings.Contains(h.log.String(), "no such file") })
	write(`while IFS= read -r line; do id=${line#*'"id":'}; echo '{"ok":'${id%%,*}'}'; done` + "\n")
	h.atRest(f, 2, got)
	if n := f.Counters.GivenUp.Load(); n != 0 {
		t.Errorf("%d given up", n)
	}
}

// Without stage_keep the copy is not announced, with it both are.
func TestStageKeep(t *testing.T) {
	h := newHouse(t)
	got := h.capture("xmade")
	f, _ := h.staged(1, 8, "-stage_keep", "on")
	h.announceFiles(map[string]string{"a": "content"})
	h.atRest(f, 1, got)
	if as := got(); len(as) != 2 || as[0].Path != "a.made" || !strings.HasSuffix(as[1].Path, "/in/a") && as[1].Path != "a" {
		t.Errorf("%v", as)
	}
}
