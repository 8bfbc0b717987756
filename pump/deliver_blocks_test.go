package pump

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"srpump/partition"
	"srpump/post"
	"srpump/pump/config"
)

// journals are the files that must not outlive the files they are of.
func (f *Flow) journals(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(f.state, "blocks", "*.journal"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// sendingBlocks are the options of a sender that announces what it delivers at a partner.
func (h *house) sendingBlocks(p partner) []string {
	return []string{"-base_dir", h.dir + "/pub", "-destination", p.url, "-pb", "sqlite://" + h.db, "-post_exchange", "xcopy", "-inflight", ".tmp"}
}

// blocksIn are those announced of one time, each once.
func blocksIn(t *testing.T, as []*post.Announcement, base, path string, second int64) (n int64) {
	t.Helper()
	seen := map[int64]bool{}
	for _, a := range as {
		if a.Base != base || a.Path != path || a.Block.Method != partition.Inplace {
			t.Errorf("announced %s %s %s", a.Base, a.Path, a.Block)
		}
		if a.Time.Time().Unix() == second && !seen[a.Block.Number] {
			seen[a.Block.Number] = true
			n++
		}
	}
	return n
}

// sr_sender(1), To a server: of a file announced in blocks, in any order and some twice, each is verified; then
// the file is sent once, and each is announced. Blocks of a newer version replace those of an older one.
func TestSenderBlocks(t *testing.T) {
	for name, start := range partners() {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			p := start(h)
			content, newer := noise(25_500, 1), noise(31_000, 2)
			h.write("pub/d/x", string(content))
			got := h.capture("xcopy")
			f, stop := h.run(config.Sender, h.sendingBlocks(p)...)
			as := cutUp("http://nobody.example/", "d/x", content, 1000, 1700000000)
			h.post("xpublic", shuffled(append(as, as[1], as[3]))...)
			h.until("all are announced", func() bool { return len(got()) >= len(as) })
			h.settled(f, int64(len(as)+2))
			if n := blocksIn(t, got(), p.url+"/", "d/x", 1700000000); n != int64(len(as)) || p.there(t) != "d/x="+string(content) || f.Counters.Fetched.Load() != 1 {
				t.Errorf("%d announced, %d delivered, there is %.80q", n, f.Counters.Fetched.Load(), p.there(t))
			}
			if fi, err := os.Stat(filepath.Join(p.dir, "d/x")); err != nil || p.modes && fi.Mode().Perm() != 0o640 || fi.ModTime().Unix() != 1699999900 {
				t.Error(fi, err)
			}
			h.post("xpublic", as[2].Clone())
			h.settled(f, int64(len(as)+3))

			h.write("pub/d/x", string(newer))
			middle := cutUp("http://nobody.example/", "d/x", newer, 1000, 1700000001)
			last := cutUp("http://nobody.example/", "d/x", newer, 3000, 1700000002)
			h.post("xpublic", append(middle[:20:20], last...)...)
			h.until("the newest is announced", func() bool { return blocksIn(t, got(), p.url+"/", "d/x", 1700000002) == int64(len(last)) })
			h.post("xpublic", middle[20:]...)
			h.settled(f, int64(len(as)+3+len(middle)+len(last)))
			stop()
			if p.there(t) != "d/x="+string(newer) || f.Counters.Fetched.Load() != 2 || len(f.journals(t)) > 0 || f.Counters.GivenUp.Load() > 0 {
				t.Errorf("%d delivered, %d given up, left %v", f.Counters.Fetched.Load(), f.Counters.GivenUp.Load(), f.journals(t))
			}
		})
	}
}

// A file that is written to between its blocks is never delivered as a mixture: blocks verified before are
// verified anew, and what is not as announced waits for the announcement of what it has become.
func TestSenderBlocksOfAChangingFile(t *testing.T) {
	for name, start := range partners() {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			p := start(h)
			content := noise(5500, 3)
			h.write("pub/x", string(content))
			f, stop := h.run(config.Sender, h.sendingBlocks(p)...)
			as := cutUp("http://nobody.example/", "x", content, 1000, 1700000000)
			h.post("xpublic", as[:4]...)
			h.settled(f, 4)
			edited := append([]byte("edited"), content[6:]...)
			h.write("pub/x", string(edited))
			h.post("xpublic", as[4:]...)
			h.until("the others are looked at again", func() bool { return strings.Contains(h.log.String(), "its blocks are verified again") })
			h.until("the first is no longer what was announced", func() bool {
				return strings.Contains(h.log.String(), "not the file that was announced") || f.Counters.Retried.Load() > 0
			})
			if p.there(t) != "" {
				t.Errorf("there is %.80q", p.there(t))
			}
			h.post("xpublic", cutUp("http://nobody.example/", "x", edited, 1000, 1700000001)...)
			h.until("what it has become is delivered", func() bool { return p.there(t) == "x="+string(edited) })
			stop()

			touched := time.Unix(1700000500, 0)
			y := cutUp("http://nobody.example/", "y", content, 1000, 1700000000)
			h.write("pub/y", string(content))
			f, stop = h.run(config.Sender, h.sendingBlocks(p)...)
			h.post("xpublic", y[:3]...)
			h.settled(f, 3)
			if err := os.Chtimes(h.dir+"/pub/y", touched, touched); err != nil {
				t.Fatal(err)
			}
			h.post("xpublic", y[3:]...)
			h.until("what was only touched is delivered", func() bool { return p.there(t) == "x="+string(edited)+" y="+string(content) })
			stop()
		})
	}
}

// Blocks that are written down outlive the run: a file that is complete is delivered at the next start, with no
// announcement to come, and one that is not goes on with the blocks that follow.
func TestSenderBlocksGoOn(t *testing.T) {
	for name, start := range partners() {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			p := start(h)
			content := noise(3500, 4)
			h.write("pub/x", string(content))
			h.write("pub/y", string(content))
			got := h.capture("xcopy")
			x, y := cutUp("http://nobody.example/", "x", content, 1000, 1700000000), cutUp("http://nobody.example/", "y", content, 1000, 1700000000)
			f, stop := h.run(config.Sender, h.sendingBlocks(p)...)
			h.post("xpublic", x[0], y[3], x[2], x[3], y[0])
			h.settled(f, 5)
			f.completeUnseen(t, x[1])
			stop()
			if p.there(t) != "" {
				t.Errorf("there is %.80q", p.there(t))
			}
			f, stop = h.run(config.Sender, h.sendingBlocks(p)...)
			h.until("the complete one is announced", func() bool { return len(got()) == 4 })
			h.post("xpublic", y[1], y[2])
			h.until("the other one is", func() bool { return len(got()) == 8 })
			stop()
			if p.there(t) != "x="+string(content)+" y="+string(content) || len(f.journals(t)) > 0 {
				t.Errorf("there is %.80q", p.there(t))
			}
		})
	}
}

// A removal ends what was on its way in blocks, and so does the file announced whole; what misses blocks for long
// is given up. None of it touches a directory of this host that bears the name of the destination's.
func TestSenderBlocksEnd(t *testing.T) {
	for name, start := range partners() {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			p := start(h)
			content := noise(3500, 5)
			for _, path := range []string{"gone", "whole", "late"} {
				h.write("pub/"+path, string(content))
			}
			f, stop := h.run(config.Sender, append(h.sendingBlocks(p), "-events", "modify,create,delete")...)
			for _, path := range []string{"gone", "whole", "late"} {
				h.post("xpublic", cutUp("http://nobody.example/", path, content, 1000, 1700000000)[:3]...)
			}
			h.settled(f, 9)
			if n := len(f.journals(t)); n != 3 {
				t.Errorf("%d journals", n)
			}
			gone := h.of("gone", "", 1)
			gone.Sum = post.OfRemoval("gone")
			h.post("xpublic", gone, h.of("whole", string(content), 1))
			h.settled(f, 11)
			if left := f.journals(t); len(left) != 1 {
				t.Errorf("left %v", left)
			}
			f.expireBlocks(time.Now().Add(time.Hour))
			stop()
			if left := f.journals(t); len(left) != 0 || p.there(t) != "whole="+string(content) || f.Counters.Incomplete.Load() != 1 {
				t.Errorf("left %v, there is %.80q, %d given up", left, p.there(t), f.Counters.Incomplete.Load())
			}
		})
	}
}

// With delete on the file goes here once all its blocks are announced there.
func TestSenderBlocksSpent(t *testing.T) {
	for name, start := range partners() {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			p := start(h)
			content := noise(2500, 6)
			h.write("pub/x", string(content))
			f, stop := h.run(config.Sender, append(h.sendingBlocks(p), "-delete")...)
			h.post("xpublic", cutUp("http://nobody.example/", "x", content, 1000, 1700000000)...)
			h.until("it is removed here", func() bool { return !h.has("pub/x") })
			h.settled(f, 3)
			stop()
			if p.there(t) != "x="+string(content) {
				t.Errorf("there is %.80q", p.there(t))
			}
		})
	}
}
