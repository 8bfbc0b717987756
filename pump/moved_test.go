package pump

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"srpump/partition"
	"srpump/post"
	"srpump/pump/config"
)

// counted serves files and counts the requests.
func (h *house) counted(files map[string]string) (*httptest.Server, *atomic.Int64) {
	n := new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		c, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, c)
	}))
	h.t.Cleanup(s.Close)
	return s, n
}

// gone announces a removal, of something that is called newname now.
func gone(base, path, newname string, s int64) *post.Announcement {
	a := announced(base, path, "", s)
	a.Sum, a.Block = post.OfRemoval(filepath.Base(path)), partition.Block{}
	a.SetHeader(post.HeaderNewname, newname)
	return a
}

// was announces a file that was called oldname.
func was(base, path, oldname, content string, s int64) *post.Announcement {
	a := announced(base, path, content, s)
	a.SetHeader(post.HeaderOldname, oldname)
	return a
}

// files lists what is below a directory of the house.
func (h *house) files(dir string) string {
	h.t.Helper()
	var out []string
	_ = filepath.WalkDir(filepath.Join(h.dir, dir), func(p string, d os.DirEntry, err error) error {
		rel, _ := filepath.Rel(filepath.Join(h.dir, dir), p)
		switch {
		case err != nil || rel == ".":
		case d.IsDir():
			out = append(out, rel+"/")
		case d.Type()&os.ModeSymlink != 0:
			to, _ := os.Readlink(p)
			out = append(out, rel+"->"+to)
		default:
			b, _ := os.ReadFile(p)
			out = append(out, rel+"="+string(b))
		}
		return nil
	})
	return strings.Join(out, " ")
}

// sr_post(7), oldname and newname: a move is repeated without fetching, whichever half comes
// first; where a half is missing, or what is here is not what is announced, the file is fetched.
func TestMoves(t *testing.T) {
	const now = 1700000000
	for _, c := range []struct {
		name     string
		have     map[string]string
		post     func(url string) []*post.Announcement
		want     string
		requests int64
	}{
		{"removal first", map[string]string{"a": "one"}, func(u string) []*post.Announcement {
			return []*post.Announcement{gone(u, "a", "/sub/b", now), was(u, "sub/b", "/a", "one", now)}
		}, "sub/ sub/b=one", 0},
		{"file first", map[string]string{"a": "one"}, func(u string) []*post.Announcement {
			return []*post.Announcement{was(u, "b", "a", "one", now), gone(u, "a", "b", now+1)}
		}, "b=one", 0},
		{"no file here", nil, func(u string) []*post.Announcement {
			return []*post.Announcement{gone(u, "a", "b", now), was(u, "b", "a", "one", now)}
		}, "b=one", 1},
		{"no removal: a second name", map[string]string{"a": "one"}, func(u string) []*post.Announcement {
			return []*post.Announcement{was(u, "b", "a", "one", now)}
		}, "a=one b=one", 0},
		{"no second half", map[string]string{"a": "one"}, func(u string) []*post.Announcement {
			return []*post.Announcement{gone(u, "a", "b", now)}
		}, "b=one", 0},
		{"what is here is older", map[string]string{"a": "old"}, func(u string) []*post.Announcement {
			return []*post.Announcement{gone(u, "a", "b", now), was(u, "b", "a", "one", now)}
		}, "b=one", 1},
		{"over a file", map[string]string{"a": "one", "b": "before"}, func(u string) []*post.Announcement {
			return []*post.Announcement{was(u, "b", "a", "one", now), gone(u, "a", "b", now)}
		}, "b=one", 0},
		{"a directory at once", map[string]string{"d/x": "1", "d/e/y": "2"}, func(u string) []*post.Announcement {
			return []*post.Announcement{gone(u, "d", "f", now), gone(u, "d/x", "f/x", now), was(u, "f/x", "d/x", "1", now),
				gone(u, "d/e/y", "f/e/y", now), was(u, "f/e/y", "d/e/y", "2", now)}
		}, "f/ f/e/ f/e/y=2 f/x=1", 0},
		{"a directory last", map[string]string{"d/x": "1"}, func(u string) []*post.Announcement {
			return []*post.Announcement{gone(u, "d/x", "f/x", now), was(u, "f/x", "d/x", "1", now), gone(u, "d", "f", now)}
		}, "f/ f/x=1", 0},
		{"the first of two moves was missed", map[string]string{"a": "one"}, func(u string) []*post.Announcement {
			return []*post.Announcement{gone(u, "b", "c", now), was(u, "c", "b", "one", now)}
		}, "a=one c=one", 1},
		{"what joins two moves was missed", map[string]string{"a": "one"}, func(u string) []*post.Announcement {
			return []*post.Announcement{gone(u, "a", "b", now), was(u, "c", "b", "one", now+1)}
		}, "b=one c=one", 0},
		{"into itself", map[string]string{"a": "one", "d/x": "1"}, func(u string) []*post.Announcement {
			return []*post.Announcement{was(u, "a", "a", "one", now), gone(u, "d", "d/e", now)}
		}, "a=one d/ d/x=1", 0},
		{"from outside", nil, func(u string) []*post.Announcement {
			return []*post.Announcement{was(u, "b", "../../etc/passwd", "one", now), gone(u, "a", "../../tmp/x", now)}
		}, "b=one", 1},
		{"of the root", map[string]string{"a": "one"}, func(u string) []*post.Announcement {
			return []*post.Announcement{gone(u, "/", "", now), gone(u, "..", "b", now), gone(u, "a", "/", now)}
		}, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t)
			web, requests := h.counted(map[string]string{"/b": "one", "/c": "one", "/sub/b": "one"})
			for name, content := range c.have {
				h.write("out/"+name, content)
			}
			_, stop := h.run(config.Subscribe, "-mirror", "-directory", h.dir+"/out", "-attempts", "1", "-instances", "1")
			as := c.post(web.URL + "/")
			h.post("xpublic", as...)
			h.until(c.want, func() bool { return h.files("out") == c.want })
			stop()
			if got := h.files("out"); got != c.want || requests.Load() != c.requests {
				t.Errorf("%s, %d requests", got, requests.Load())
			}
		})
	}
}

// What a pump announces on names both its own files, so that the next repeats the move too; a
// move out of what the rules take is a removal, one into it a fetch.
func TestMovesAnnouncedOn(t *testing.T) {
	h := newHouse(t)
	web, requests := h.counted(map[string]string{"/b": "one", "/c": "two"})
	h.write("pub/in/a", "one")
	h.write("pub/in/c", "two")
	got := h.capture("xcopy")
	_, stop := h.run(config.Sarra, "-exchange", "xin", "-post_exchange", "xcopy", "-post_base_url", "http://me/", "-post_base_dir", h.dir+"/pub",
		"-directory", "${PBD}/in", "-instances", "1", "-reject", ".*secret.*", "-accept", ".*")
	u := web.URL + "/"
	h.post("xin", gone(u, "a", "b", 1700000000), was(u, "b", "a", "one", 1700000000), gone(u, "c", "secret", 1700000001), was(u, "c", "secret", "two", 1700000002))
	h.until("all are announced", func() bool { return len(got()) == 4 })
	h.post("xin", was(u, "b", "a", "one", 1700000000), was(u, "b", "a", "one", 1700000000), announced(u, "c", "two", 1700000009))
	h.until("what came back is known", func() bool { return strings.Count(h.log.String(), "msg=unchanged") >= 3 })
	stop()
	var names []string
	for _, a := range got() {
		names = append(names, a.Path+"<"+a.Header("oldname")+">"+a.Header("newname"))
	}
	slices.Sort(names)
	if s := strings.Join(names, " "); s != "in/a<>in/b in/b<in/a> in/c<> in/c<>" || requests.Load() != 1 {
		t.Errorf("%s, %d requests", s, requests.Load())
	}
}

// A file that is here already is given the mode and times announced, without fetching it.
func TestAdjusted(t *testing.T) {
	h := newHouse(t)
	web, requests := h.counted(nil)
	h.write("out/a", "one")
	got := h.capture("xcopy")
	h.run(config.Subscribe, "-directory", h.dir+"/out", "-pb", "sqlite://"+h.db, "-post_exchange", "xcopy")
	a := announced(web.URL+"/", "a", "one", 1700000000)
	a.Headers = map[string]any{"mode": "640", "mtime": "20200102030405.25"}
	h.post("xpublic", a)
	h.until("it is announced", func() bool { return len(got()) == 1 })
	if fi, err := os.Stat(h.dir + "/out/a"); err != nil || fi.Mode().Perm() != 0o640 || fi.ModTime().UnixMilli() != 1577934245250 || requests.Load() != 0 {
		t.Errorf("%v %v", fi, err)
	}
}
