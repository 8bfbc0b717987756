package pump

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"srpump/post"
	"srpump/pump/config"
)

// staged runs a flow with the test filter on what xpublic announces; its outputs are announced on xmade.
func (h *house) staged(pack, window int, args ...string) (*Flow, func()) {
	h.t.Helper()
	out := filepath.Join(h.dir, "out")
	return h.run(config.Subscribe, append([]string{"-directory", h.dir + "/in", "-post_broker", "sqlite://" + h.db, "-post_exchange", "xmade",
		"-post_base_dir", out, "-post_base_url", "http://made/", "-overwrite", "on",
		"-stage", fmt.Sprintf("%s stage-filter %s %d %d", os.Args[0], out, pack, window)}, args...)...)
}

// announceFiles announces files whose contents say what the filter is to do.
func (h *house) announceFiles(files map[string]string) {
	h.t.Helper()
	byPath := make(map[string]string)
	for name, content := range files {
		byPath["/"+name] = content
	}
	web := h.web(byPath)
	var all []*post.Announcement
	for name, content := range files {
		all = append(all, announced(web.URL+"/", name, content, 1700000000))
	}
	h.post("xpublic", all...)
}

// atRest waits until nothing is in hand, and what was announced has been heard.
func (h *house) atRest(f *Flow, n int, got func() []*post.Announcement) {
	h.t.Helper()
	h.until("all are done", func() bool {
		all, _ := f.jobs.len()
		return f.Counters.Staged.Load() >= int64(n) && all == 0 && f.retries.Len() == 0 && int64(len(got())) >= f.Counters.Announced.Load()
	})
}

// sr_hooks(7), STAGES: one input may make many outputs, each announced with what it holds and what the
// filter says of it; the copy is not announced.
func TestStageOneToMany(t *testing.T) {
	h := newHouse(t)
	got := h.capture("xmade")
	f, _ := h.staged(1, 0)
	h.announceFiles(map[string]string{"a": "many 3", "b/c": "many 2"})
	h.until("all are announced", func() bool { return len(got()) == 5 })
	h.atRest(f, 2, got)
	for _, a := range got() {
		if a.Base != "http://made/" || a.Topic != post.MakeTopic(post.DefaultPrefix, a.Path, true) || a.Header("mtime") == "" || a.Header("mode") != "644" ||
			a.Path != a.Header("x_of")+"."+a.Header("part") {
			t.Errorf("%+v", a)
		}
		if sum, n, err := post.OfReader(post.SumMD5, strings.NewReader(h.content("out/"+a.Path)), make([]byte, 64)); err != nil || sum != a.Sum || n != a.Size() {
			t.Errorf("%s: %v %v", a.Path, a.Sum, a.Block)
		}
	}
	if n := f.Count(); n["staged"] != 2 || n["made"] != 5 || n["fetched"] != 2 || n["stage_held"] != 0 {
		t.Errorf("%v", n)
	}
}

// Many inputs make one output, announced once, and are answered in any order.
func TestStageManyToOne(t *testing.T) {
	h := newHouse(t)
	got := h.capture("xmade")
	f, _ := h.staged(20, 20)
	files := make(map[string]string)
	for i := range 200 {
		files[fmt.Sprintf("f%03d", i)] = fmt.Sprint("content ", i)
	}
	h.announceFiles(files)
	h.until("all are announced", func() bool { return len(got()) == 10 })
	h.atRest(f, 200, got)
	all := ""
	for _, a := range got() {
		all += h.content("out/" + a.Path)
	}
	for name, content := range files {
		if strings.Count(all, name+" "+content+"\n") != 1 {
			t.Errorf("%s is not packed once", name)
		}
	}
}
