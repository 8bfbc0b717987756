package test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
)

// A renaming is a watched tree of flat files, whose copy is at dst from the beginning, and which is
// served by who counts the requests.
type renaming struct {
	*host
	n        int
	requests atomic.Int64
	base     string // of the announcements
}

func newRenaming(t *testing.T, n int) *renaming {
	r := &renaming{host: newHost(t), n: n}
	for i := range n {
		r.write("src/"+r.name("old", i), fmt.Sprintf("file %d\n", i))
	}
	r.copyTree()
	files := http.FileServer(http.Dir(r.path("src")))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.requests.Add(1)
		files.ServeHTTP(w, q)
	}))
	t.Cleanup(s.Close)
	r.base = s.URL
	return r
}

func (r *renaming) name(which string, i int) string { return fmt.Sprintf("d%d/%s %d", i%20, which, i) }

// copyTree gives dst what src holds, with its times.
func (r *renaming) copyTree() {
	for i := range r.n {
		name := r.name("old", i)
		info, err := os.Stat(r.path("src", name))
		must(r.t, err)
		r.write("dst/"+name, fmt.Sprintf("file %d\n", i))
		must(r.t, os.Chtimes(r.path("dst", name), info.ModTime(), info.ModTime()))
	}
}

// rename gives each file its new name.
func (r *renaming) rename() {
	for i := range r.n {
		must(r.t, os.Rename(r.path("src", r.name("old", i)), r.path("src", r.name("new", i))))
	}
}

// renamed is how many have their new name in the copy.
func (r *renaming) renamed() (n int) {
	for i := range r.n {
		if _, err := os.Lstat(r.path("dst", r.name("new", i))); err == nil {
			n++
		}
	}
	return n
}

func (r *renaming) watch(url, exchange string) *running {
	w := r.start("sr_watch", "-pb", url, "-px", exchange, "-pbd", r.path("src"), "-pbu", r.base,
		"-events", "create,modify,delete,link,move", "-p", r.path("src"))
	w.await("watching")
	return w
}

// equal waits until the copy is what the tree is.
func (r *renaming) equal(explain func() string) {
	want := mirrored(r.path("src"))
	waitWithin(r.t, 4*deadline, "equal trees", func() bool { return r.renamed() == r.n && mirrored(r.path("dst")) == want }, explain)
}

// A mirror follows ten thousand renames without asking the server for a byte.
func TestRenamesFetchNothing(t *testing.T) {
	r := newRenaming(t, 10_000)
	url, exchange := "sqlite://"+r.path("pump.db"), "xs_rename"
	subscribe := r.start("sr_subscribe", "-b", url, "-exchange", exchange, "-mirror", "-directory", r.path("dst"))
	subscribe.await("consuming")
	watch := r.watch(url, exchange)
	r.rename()
	r.equal(subscribe.text)
	watch.stop()
	subscribe.stop()
	if n := r.requests.Load(); n != 0 {
		t.Errorf("%d requests for %d renames", n, r.n)
	}
}

// kill -9 of sr_subscribe while it follows renames: the trees end equal, and at most what a kill made
// it forget is fetched.
func TestKillRenames(t *testing.T) {
	t.Parallel() // it waits more than it works
	onBothBrokers(t, func(t *testing.T, url string) {
		r, exchange, kills := newRenaming(t, 2000), fresh("xs_guest"), scale(6, 40)
		captureFrom(t, connect(t, url), exchange)
		args := []string{"-b", url, "-exchange", exchange, "-queue_name", fresh("q_guest"), "-mirror", "-directory", r.path("dst")}
		start := func() *running {
			s := r.start("sr_subscribe", args...)
			s.await("consuming")
			return s
		}
		start().kill()
		watch := r.watch(url, exchange)
		r.rename()
		last := killAlong(t, kills, r.n, r.renamed, start)
		r.equal(last.text)
		last.stop()
		watch.stop()
		if n := r.requests.Load(); n > int64(kills) {
			t.Errorf("%d requests for %d renames and %d kills", n, r.n, kills)
		}
		t.Logf("%d kills, %d renames, %d requests", kills, r.n, r.requests.Load())
	})
}
