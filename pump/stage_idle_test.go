package pump

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"srpump/post"
	"srpump/pump/config"
)

// stage_idle: what a filter holds it answers for when nothing new comes, and it is started again for the next.
func TestStageIdle(t *testing.T) {
	h := newHouse(t)
	got := h.capture("xmade")
	f, _ := h.staged(20, 50, "-stage_idle", "0.2")
	h.announceFiles(map[string]string{"a": "1", "b": "2", "c": "3"})
	h.atRest(f, 3, got)
	h.announceFiles(map[string]string{"d": "4"})
	h.atRest(f, 4, got)
	all := ""
	for _, a := range got() {
		all += h.content("out/" + a.Path)
	}
	for _, line := range []string{"a 1\n", "b 2\n", "c 3\n", "d 4\n"} {
		if strings.Count(all, line) != 1 {
			t.Errorf("%q is not packed once: %q", line, all)
		}
	}
	if log := h.log.String(); strings.Contains(log, "stage ended") {
		t.Error("a filter that ends when asked to is no trouble")
	}
}

// A filter that has answered for all and does not end is ended; the next input has another.
func TestStageLingers(t *testing.T) {
	h := newHouse(t)
	got := h.capture("xmade")
	f, _ := h.staged(20, 50, "-stage_idle", "0.1")
	h.announceFiles(map[string]string{"a": "linger"})
	h.atRest(f, 1, got)
	h.announceFiles(map[string]string{"b": "next"})
	h.atRest(f, 2, got)
	if n := f.Count(); n["made"] != 2 || n["given_up"] != 0 || n["made_again"] != 0 {
		t.Errorf("%v", n)
	}
}

// At the end of a pipe the filter packs what it holds; nothing is left.
func TestStageEndOfPipe(t *testing.T) {
	h := newHouse(t)
	got := h.capture("xmade")
	var in strings.Builder
	for i := range 50 {
		name := h.write(fmt.Sprintf("src/f%02d", i), fmt.Sprint("content ", i))
		m, err := post.EncodeV02(announced("file:", name, fmt.Sprint("content ", i), 1700000000))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&in, "[%q,{\"sum\":%q,\"parts\":%q},%q]\n", m.Topic, m.Headers["sum"], m.Headers["parts"], strings.TrimSpace(string(m.Body)))
	}
	host, out := h.host(), filepath.Join(h.dir, "out")
	host.Stdin = strings.NewReader(in.String())
	f, err := NewFlow(h.config(config.Subscribe, "-broker", "-", "-notify_only", "on", "-post_broker", "sqlite://"+h.db, "-post_exchange", "xmade",
		"-post_base_dir", out, "-post_base_url", "http://made/", "-stage", fmt.Sprintf("%s stage-filter %s 20 20", os.Args[0], out)), host)
	if err == nil {
		err = f.Run(context.Background())
	}
	if err != nil {
		t.Fatal(err)
	}
	h.until("three are announced", func() bool { return len(got()) == 3 })
	if n := f.Count(); n["staged"] != 50 || n["made"] != 3 || f.Retries() != 0 {
		t.Errorf("%v", n)
	}
}

// stage_instances: the second filter starts when the first has no room, and each holds its own; one that dies
// takes nothing from the other.
func TestStageInstances(t *testing.T) {
	h := newHouse(t)
	got := h.capture("xmade")
	f, stop := h.staged(2, 1, "-stage_instances", "2")
	h.announceFiles(map[string]string{"a": "1", "b": "2", "c": "3"})
	h.until("two have one each", func() bool { n := f.Count(); return n["stage_held"] == 2 && n["stage_waiting"] == 1 })
	stop()
	f, _ = h.staged(1, 4, "-stage_instances", "2")
	files := map[string]string{"evil": "die"}
	for i := range 60 {
		files[fmt.Sprintf("f%02d", i)] = fmt.Sprint("content ", i)
	}
	h.announceFiles(files)
	h.until("all are given", func() bool { return f.Counters.GivenUp.Load() == 1 })
	h.atRest(f, 61, got)
	made := make(map[string]bool)
	for _, a := range got() {
		made[a.Path] = true
	}
	if len(made) != 63 {
		t.Errorf("%d made", len(made))
	}
}

// A filter that never stops saying outputs is ended by stage_timeout, and harms nobody else.
func TestStageFlood(t *testing.T) {
	h := newHouse(t)
	got := h.capture("xmade")
	f, _ := h.staged(1, 8, "-stage_timeout", "2", "-stage_attempts", "2", "-suppress_duplicates", "off")
	files := map[string]string{"evil": "flood"}
	for i := range 20 {
		files[fmt.Sprintf("f%02d", i)] = fmt.Sprint("content ", i)
	}
	h.announceFiles(files)
	h.until("it is given up", func() bool { return f.Counters.GivenUp.Load() == 1 })
	h.atRest(f, 21, got)
	made := make(map[string]bool)
	for _, a := range got() {
		made[a.Path] = true
	}
	if len(made) != 21 || !made["evil.flood"] {
		t.Errorf("%d made", len(made))
	}
}
