package pump

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"srpump/partition"
	"srpump/post"
	"srpump/pump/config"
)

// A blockServer serves files from memory with ranges, and counts what it is asked for.
type blockServer struct {
	*httptest.Server
	mu    sync.Mutex
	files map[string][]byte
	bytes atomic.Int64
	asked atomic.Int64
}

func (h *house) blockServer(files map[string][]byte) *blockServer {
	s := &blockServer{files: files}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		s.mu.Lock()
		content, ok := s.files[r.URL.Path]
		s.mu.Unlock()
		if !ok {
			http.NotFound(w, r)
			return
		}
		http.ServeContent(counted{w, &s.bytes}, r, "", time.Time{}, bytes.NewReader(content))
	}))
	h.t.Cleanup(s.Close)
	return s
}

type counted struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (c counted) Write(b []byte) (int, error) {
	c.n.Add(int64(len(b)))
	return c.ResponseWriter.Write(b)
}

func (s *blockServer) put(path string, content []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[path] = content
}

// noise is n bytes unlike any others.
func noise(n int, seed uint64) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	r.Read(b)
	return b
}

// cutUp announces content at path below base in blocks of a size, posted at second s; method i.
func cutUp(base, path string, content []byte, size int64, s int64) (out []*post.Announcement) {
	b := partition.Cut(partition.Inplace, int64(len(content)), size)
	for n := range b.Count {
		b.Number = n
		a := announced(base, path, string(content[b.Offset():b.Offset()+b.Length()]), s)
		a.Block = b
		a.Headers["mtime"] = post.FormatTime(time.Unix(s-100, 500))
		a.Headers["mode"] = "640"
		out = append(out, a)
	}
	return out
}

func shuffled(as []*post.Announcement) []*post.Announcement {
	rand.Shuffle(len(as), func(i, k int) { as[i], as[k] = as[k], as[i] })
	return as
}

// leftOver are the files below a directory of the house but for those named.
func (h *house) leftOver(dir string, but ...string) (left []string) {
	filepath.WalkDir(filepath.Join(h.dir, dir), func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if rel, _ := filepath.Rel(filepath.Join(h.dir, dir), p); !strings.Contains(strings.Join(but, "\n"), rel) {
				left = append(left, rel)
			}
		}
		return nil
	})
	return left
}

// sr_subscribe(1), BLOCKS: a file is put together of its blocks, in any order and some twice, and has its name
// when all are there, with the mode and time announced. Then each is announced, of method i.
func TestBlocks(t *testing.T) {
	for name, size := range map[string]int{"a short last block": 2500, "none": 3000} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			content := noise(size, 1)
			web := h.blockServer(map[string][]byte{"/d/x": content})
			got := h.capture("xcopy")
			f, _ := h.run(config.Subscribe, "-exchange", "xin", "-directory", h.dir+"/out", "-mirror",
				"-post_broker", "sqlite://"+h.db, "-post_exchange", "xcopy", "-post_base_url", "http://me/", "-post_base_dir", h.dir+"/out")
			as := cutUp(web.URL+"/", "d/x", content, 100, 1700000000)
			h.post("xin", shuffled(append(as, as[1], as[3]))...)
			h.until("all are announced", func() bool { return len(got()) >= len(as) })
			h.until("all are done", func() bool { n, _ := f.jobs.len(); return n == 0 })
			if !bytes.Equal([]byte(h.content("out/d/x")), content) {
				t.Error("other bytes")
			}
			fi, err := os.Stat(h.dir + "/out/d/x")
			if err != nil || fi.Mode().Perm() != 0o640 || fi.ModTime().Unix() != 1699999900 {
				t.Errorf("%v %v", fi, err)
			}
			seen := map[string]bool{}
			for _, a := range got() {
				seen[a.Block.String()] = true
				if a.Base != "http://me/" || a.Path != "d/x" || a.Block.Method != partition.Inplace || a.Time.Time().Unix() != 1700000000 {
					t.Errorf("announced %+v", a)
				}
			}
			if left := h.leftOver("out", "d/x"); len(seen) != len(as) || len(left) > 0 || f.Counters.Fetched.Load() != 1 || f.Counters.Blocks.Load() != int64(len(as)) {
				t.Errorf("%d announced, left %v, %d files of %d blocks", len(seen), left, f.Counters.Fetched.Load(), f.Counters.Blocks.Load())
			}
			h.post("xin", as[2])
			h.until("a late one is known", func() bool {
				return strings.Contains(h.log.String(), "msg=unchanged") && f.Counters.Received.Load() == int64(len(as)+3)
			})
			h.until("all are done", func() bool { n, _ := f.jobs.len(); return n == 0 })
			if left := h.leftOver("out", "d/x"); len(left) > 0 {
				t.Errorf("a late block began %v", left)
			}
		})
	}
}

// Blocks may come as part files, from different sources; the destination is the file they are of.
func TestPartsReceived(t *testing.T) {
	h := newHouse(t)
	content := noise(2500, 2)
	one, two := h.blockServer(map[string][]byte{}), h.blockServer(map[string][]byte{"/x": content})
	as := cutUp(two.URL+"/", "x", content, 1000, 1700000000)
	for _, a := range as[:2] {
		a.Base, a.Block.Method = one.URL+"/", partition.Parted
		a.Path = partition.PartName("x", a.Block, "d")
		one.put("/"+a.Path, content[a.Block.Offset():a.Block.Offset()+a.Block.Length()])
	}
	forged := as[0].Clone()
	forged.Path = partition.PartName("x", as[1].Block, "d")
	f, _ := h.run(config.Subscribe, "-directory", h.dir+"/out")
	h.post("xpublic", append([]*post.Announcement{forged}, as...)...)
	h.until("the file is here", func() bool { return h.content("out/x") == string(content) })
	h.until("all are done", func() bool { n, _ := f.jobs.len(); return n == 0 })
	if left := h.leftOver("out", "x"); len(left) > 0 || f.Counters.GivenUp.Load() != 1 {
		t.Errorf("left %v, %d given up", left, f.Counters.GivenUp.Load())
	}
}

// sr_sarra(1): with inplace off each block is a part file, announced as soon as it is here.
func TestBlocksKeptApart(t *testing.T) {
	h := newHouse(t)
	content := noise(2500, 3)
	web := h.blockServer(map[string][]byte{"/d/x": content})
	as := cutUp(web.URL+"/", "d/x", content, 1000, 1700000000)
	parted := as[2].Clone()
	parted.Block.Method = partition.Parted
	parted.Path = "d/" + partition.PartName("y", parted.Block, "d")
	web.put("/"+parted.Path, content[2000:])
	got := h.capture("xcopy")
	h.run(config.Sarra, "-exchange", "xin", "-post_exchange", "xcopy", "-post_base_url", "http://me/", "-post_base_dir", h.dir+"/out", "-directory", h.dir+"/out")
	h.post("xin", as[2], as[0], parted)
	h.until("three are announced", func() bool { return len(got()) == 3 })
	for _, a := range got() {
		b := a.Block
		at := content[b.Offset() : b.Offset()+b.Length()]
		if !strings.HasPrefix(a.Path, "d/") || b.Method != partition.Parted || h.content("out/"+a.Path) != string(at) {
			t.Errorf("announced %s %s", a.Path, b)
		}
		if name, nb, _, err := partition.ParsePartName(a.Path[2:], b.Length()); err != nil || nb != b || name != "x" && name != "y" {
			t.Errorf("%s: %s %v", a.Path, name, err)
		}
	}
	if left := h.leftOver("out", got()[0].Path, got()[1].Path, got()[2].Path); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	h.post("xin", as[0])
	h.until("one that is here is known", func() bool { return strings.Contains(h.log.String(), "msg=unchanged") })
	if len(got()) != 3 {
		t.Error("what is here was announced again")
	}
}
