package pump

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"srpump/post"
	"srpump/pump/config"
	"srpump/pump/transfer"
	"srpump/test/openssh"
	"srpump/test/vsftpd"
)

func (h *house) has(path string) bool {
	_, err := os.Lstat(filepath.Join(h.dir, path))
	return err == nil
}

// With delete a source goes once its copy is here and announced: by whichever way it came to be here. What
// failed, what is no file and what lies outside of base_dir stays.
func TestDelete(t *testing.T) {
	for name, preset := range map[string]config.Preset{"subscribe": config.Subscribe, "sarra": config.Sarra, "sender": config.Sender} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			for path, text := range map[string]string{"pub/foo": "foo", "pub/here": "here", "there/here": "here", "pub/wrong": "what is not announced", "outside": "x"} {
				h.write(path, text)
			}
			if err := os.Symlink("foo", h.dir+"/pub/link"); err != nil {
				t.Fatal(err)
			}
			args := []string{"-base_dir", h.dir + "/pub", "-directory", h.dir + "/there", "-delete", "-attempts", "1", "-sum_mismatch", "strict", "-report_back", "off"}
			if preset == config.Sender {
				args = []string{"-base_dir", h.dir + "/pub", "-destination", "file://" + h.dir + "/there", "-delete", "-attempts", "1", "-sum_mismatch", "strict", "-mirror", "off"}
			}
			if preset == config.Sarra {
				args = append(args, "-post_exchange", "xcopy", "-post_base_url", "http://x/", "-mirror", "off", "-pb", "sqlite://"+h.db, "-exchange", "xs_in")
			}
			exchange := "xpublic"
			if preset == config.Sarra {
				exchange = "xs_in"
			}
			const root = "there/"
			f, stop := h.run(preset, args...)
			at := func(name, text string) *post.Announcement {
				a := announced("file:", filepath.Join(h.dir, "pub", name), text, 1700000000)
				a.Headers["mtime"] = post.FormatTime(mtime(t, filepath.Join(h.dir, "pub", name)))
				return a
			}
			link := at("link", "")
			link.Sum, link.Headers["link"] = post.OfLink("foo"), "foo"
			h.post(exchange, at("foo", "foo"), at("here", "here"), at("wrong", "wrong"), link, announced("file:", h.dir+"/outside", "x", 1700000000))
			h.until("all is done", func() bool {
				n := &f.Counters
				return n.Fetched.Load() == 1 && n.Linked.Load() == 1 && n.Retried.Load() == 1 && n.GivenUp.Load()+n.Retried.Load() >= 2 && !h.has("pub/foo") && !h.has("pub/here")
			})
			stop()
			if h.content(root+"foo") != "foo" || h.content(root+"here") != "here" || !h.has("pub/wrong") || !h.has("pub/link") || !h.has("outside") {
				t.Error("too much or too little is left")
			}
			if !strings.Contains(h.log.String(), `msg="source removed"`) {
				t.Error("nothing is said of it")
			}
		})
	}
}

func mtime(t *testing.T, path string) time.Time {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		return time.Unix(1700000000, 0)
	}
	return info.ModTime()
}

// A file of a web server stays, which is said once, and the copy is done all the same.
func TestDeleteOverTheWeb(t *testing.T) {
	h := newHouse(t)
	web := h.web(map[string]string{"/foo": "foo", "/bar": "bar"})
	f, stop := h.run(config.Subscribe, "-directory", h.dir+"/there", "-delete")
	h.post("xpublic", announced(web.URL+"/", "foo", "foo", 1700000000), announced(web.URL+"/", "bar", "bar", 1700000000))
	h.settled(f, 2)
	stop()
	if n := strings.Count(h.log.String(), `msg="source not removed"`); n != 1 {
		t.Errorf("said %d times", n)
	}
	if f.Counters.Retried.Load() != 0 || h.content("there/foo") != "foo" {
		t.Error("it is not done")
	}
}

// Only what still is the file that was fetched is removed.
func TestDeleteOnlyWhatWasFetched(t *testing.T) {
	at := time.Unix(1700000000, 5000)
	announcedAt := announced("http://h/", "f", "hello", 1)
	announcedAt.Headers["mtime"] = post.FormatTime(at)
	for name, c := range map[string]struct {
		a     *post.Announcement
		proof time.Time
		e     transfer.Entry
		want  error
	}{
		"the same":              {announced("http://h/", "f", "hello", 1), at, transfer.Entry{Size: 5, ModTime: at}, nil},
		"to the second":         {announced("http://h/", "f", "hello", 1), at, transfer.Entry{Size: 5, ModTime: at.Truncate(time.Second)}, nil},
		"as announced":          {announcedAt, time.Time{}, transfer.Entry{Size: 5, ModTime: at}, nil},
		"another size":          {announcedAt, at, transfer.Entry{Size: 6, ModTime: at}, errNewer},
		"another time":          {announcedAt, at, transfer.Entry{Size: 5, ModTime: at.Add(time.Microsecond)}, errNewer},
		"nothing known":         {announced("http://h/", "f", "hello", 1), time.Time{}, transfer.Entry{Size: 5, ModTime: at}, errUnproven},
		"a server that is mute": {announced("http://h/", "f", "hello", 1), at, transfer.Entry{Size: -1}, nil},
	} {
		j := &job{a: c.a, block: c.a.Block, proof: transfer.Validator{ModTime: c.proof}}
		if err := j.stillIs(c.e); err != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A file that is its own copy is not removed.
func TestDeleteKeepsTheCopy(t *testing.T) {
	h := newHouse(t)
	h.write("pub/foo", "foo")
	f, stop := h.run(config.Subscribe, "-base_dir", h.dir+"/pub", "-directory", h.dir+"/pub", "-delete")
	h.post("xpublic", announced("file:", h.dir+"/pub/foo", "foo", 1700000000))
	h.until("it is looked at", func() bool { return f.Counters.Unchanged.Load()+f.Counters.Fetched.Load() == 1 })
	stop()
	if h.content("pub/foo") != "foo" {
		t.Error("it is gone")
	}
}

// The same through a server: what is here is what the server shows, whether it was fetched over
// itself, found unchanged or delivered. A source beside it, of the same size and time, goes.
func TestDeleteKeepsTheCopyThroughAServer(t *testing.T) {
	for name, c := range map[string]struct {
		preset config.Preset
		ftp    bool
		args   []string
	}{
		"unchanged":    {config.Subscribe, false, nil},
		"fetched":      {config.Subscribe, false, []string{"-overwrite"}},
		"over FTP":     {config.Subscribe, true, []string{"-overwrite"}},
		"sent":         {config.Sender, false, nil},
		"sent by FTP":  {config.Sender, true, nil},
		"unchanged F.": {config.Subscribe, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			h.write("pub/foo", "foo")
			h.write("pub/sub/bar", "bar")
			base := h.serving(t, c.ftp)
			args := append([]string{"-base_dir", h.dir + "/pub", "-delete", "-mirror", "off", "-attempts", "1"}, c.args...)
			if c.preset == config.Sender {
				args = append(args, "-destination", strings.TrimSuffix(base, "/"))
			} else {
				args = append(args, "-directory", h.dir+"/pub")
			}
			f, stop := h.run(c.preset, args...)
			for n, name := range []string{"foo", "sub/bar"} {
				a := announced(base, name, name[len(name)-3:], 1700000000+int64(n))
				a.Headers["mtime"] = post.FormatTime(mtime(t, filepath.Join(h.dir, "pub", name)))
				h.post("xpublic", a)
			}
			h.until("both are done", func() bool {
				all, _ := f.jobs.len()
				return f.Counters.Received.Load() == 2 && all == 0
			})
			stop()
			if h.content("pub/foo") != "foo" || h.content("pub/bar") != "bar" || h.has("pub/sub/bar") {
				t.Error("too much or too little is left", h.leftOver("pub"))
			}
			if strings.Count(h.log.String(), "source not removed") != 1 || strings.Contains(strings.Join(h.leftOver("pub"), " "), ".tmp") {
				t.Error(h.log.String())
			}
		})
	}
}

// serving starts a server of the house's pub and returns the URL of that, with a slash at its end.
func (h *house) serving(t *testing.T, ftp bool) string {
	if ftp {
		addr := vsftpd.Start(t, h.dir+"/pub", vsftpd.Options{Password: "s3cret"})
		h.credentials("ftp://ftp:s3cret@" + addr + "/")
		return "ftp://ftp@" + addr + "/"
	}
	s := openssh.Start(t, h.dir+"/pub")
	h.knows(s)
	h.credentials("sftp://" + s.User + "@" + s.Addr + "/ ssh_keyfile=" + s.KeyFile)
	return "sftp://" + s.User + "@" + s.Addr + h.dir + "/pub/"
}

// A file in blocks goes at its source once it is put together here.
func TestDeleteInBlocks(t *testing.T) {
	h := newHouse(t)
	content := noise(1000, 3)
	path := h.write("pub/x", string(content))
	h.run(config.Subscribe, "-base_dir", h.dir+"/pub", "-directory", h.dir+"/there", "-delete")
	as := cutUp("file:", path, content, 300, 1700000000)
	for _, a := range as {
		a.Headers["mtime"] = post.FormatTime(mtime(t, path))
	}
	h.post("xpublic", as...)
	h.until("it is gone", func() bool { return !h.has("pub/x") })
	if h.content("there/x") != string(content) {
		t.Error("other bytes")
	}
}
