package pump

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"srpump/partition"
	"srpump/post"
	"srpump/pump/config"
	"srpump/test/openssh"
	"srpump/test/vsftpd"
)

// A partner is a server to deliver to.
type partner struct {
	url   string // of its directory in, with its user
	dir   string // that, on this host
	root  string // the absolute path of its login directory, as it sees it
	home  string // how URLs say that directory
	links bool   // it has symbolic links
	modes bool   // it sets permissions
}

// partners start a server each, known to a house.
func partners() map[string]func(h *house) partner {
	return map[string]func(h *house) partner{
		"ftp": func(h *house) partner {
			dir := h.t.TempDir()
			addr := vsftpd.Start(h.t, dir, vsftpd.Options{Password: "s3cret"})
			h.credentials("ftp://ftp:s3cret@" + addr + "/")
			return partner{url: "ftp://ftp@" + addr + "/in", dir: filepath.Join(dir, "in"), root: dir, home: "/"}
		},
		"sftp": func(h *house) partner {
			dir := h.t.TempDir()
			s := openssh.Start(h.t, dir)
			h.knows(s)
			server := "sftp://" + s.User + "@" + s.Addr
			h.credentials(server + "/ ssh_keyfile=" + s.KeyFile)
			return partner{url: server + "/~/in", dir: filepath.Join(dir, "in"), root: dir, home: "/~/", links: true, modes: true}
		},
	}
}

// there is what is delivered: path and content of each file, links with their text.
func (p partner) there(t *testing.T) string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(p.dir, func(path string, d os.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(p.dir, path)
		if text, err := os.Readlink(path); err == nil {
			out = append(out, rel+"->"+text)
			return nil
		}
		text, err := os.ReadFile(path)
		out = append(out, rel+"="+string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, " ")
}

// of is a change of a file of the house, as its pump announces it: n seconds after the others.
func (h *house) of(path, text string, n int64, headers ...string) *post.Announcement {
	a := announced("http://nobody.example/", path, text, 1700000000+n)
	for i := 0; i+1 < len(headers); i += 2 {
		a.Headers[headers[i]] = headers[i+1]
	}
	return a
}

// sr_sender(1), To a server: files arrive complete under their names, with permissions and times, and are
// announced there, without a password; removals, directories, links and moves are followed.
func TestSenderToServers(t *testing.T) {
	for name, start := range partners() {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			p := start(h)
			odd := "sub/a b#c%20d?é+-.txt"
			for path, text := range map[string]string{"foo": "foo", "sub/empty": "", odd: strings.Repeat("0123456789", 100_000)} {
				h.write("pub/"+path, text)
			}
			got := h.capture("xcopy")
			f, stop := h.run(config.Sender, "-base_dir", h.dir+"/pub", "-destination", p.url, "-pb", "sqlite://"+h.db, "-post_exchange", "xcopy", "-events", "modify,create,delete,link")
			h.post("xpublic", h.of("foo", "foo", 0, "mode", "640", "mtime", "20200102030405"), h.of("sub/empty", "", 0), h.of(odd, strings.Repeat("0123456789", 100_000), 0))
			h.until("all are announced", func() bool { return len(got()) == 3 })
			for _, a := range got() {
				if a.Base != p.url+"/" || !slices.Contains([]string{"foo", "sub/empty", odd}, a.Path) {
					t.Errorf("announced %s %s", a.Base, a.Path)
				}
			}
			if want := "foo=foo " + odd + "=" + strings.Repeat("0123456789", 100_000) + " sub/empty="; p.there(t) != want {
				t.Errorf("there is %.200s", p.there(t))
			}
			if fi, err := os.Stat(filepath.Join(p.dir, "foo")); err != nil || p.modes && fi.Mode().Perm() != 0o640 || fi.ModTime().Unix() != 1577934245 {
				t.Error(fi, err)
			}
			made := h.of("new", "", 1)
			made.Sum = post.OfDirectory(post.SumMkdir, "new")
			gone := h.of(odd, "", 1)
			gone.Sum = post.OfRemoval(odd)
			link := h.of("link", "", 1, "link", "foo")
			link.Sum = post.OfLink("foo")
			old := h.of("foo", "", 1, "newname", "new/bar")
			old.Sum = post.OfRemoval("foo")
			h.post("xpublic", made, gone, link, old)
			h.until("all are followed", func() bool {
				return f.Counters.Removed.Load() == 1 && f.Counters.Renamed.Load() == 1 && f.Counters.Linked.Load()+f.Counters.GivenUp.Load() == 1
			})
			h.post("xpublic", h.of("new/bar", "foo", 1, "oldname", "foo", "mtime", "20200102030405"))
			h.until("the move is announced", func() bool { return f.Counters.Renamed.Load()+f.Counters.Retried.Load() == 2 })
			stop()
			want := "new/bar=foo sub/empty="
			if p.links {
				want = "link->foo " + want
			}
			if p.there(t) != want {
				t.Errorf("there is %s", p.there(t))
			}
			if strings.Contains(h.log.String(), "s3cret") {
				t.Error("the password is in the log")
			}
		})
	}
}

// What is not here yet, or not what was announced, is tried again; nothing of it is seen there meanwhile, nor
// is anything left of what a run that was killed had begun.
func TestSenderToServersRetries(t *testing.T) {
	for name, start := range partners() {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			p := start(h)
			h.write("pub/wrong", "wrong")
			f, stop := h.run(config.Sender, "-base_dir", h.dir+"/pub", "-destination", p.url, "-attempts", "1", "-post_base_url", "http://x/", "-inflight", ".tmp")
			h.post("xpublic", h.of("late", "late", 0), h.of("wrong", "right", 0))
			h.until("both wait", func() bool { return f.Counters.Retried.Load() >= 2 })
			if p.there(t) != "" {
				t.Errorf("there is %s", p.there(t))
			}
			if err := os.MkdirAll(p.dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(p.dir, "late.tmp"), []byte("a longer text, left by a run that was killed"), 0o644); err != nil {
				t.Fatal(err)
			}
			h.write("pub/late", "late")
			h.write("pub/wrong", "right")
			h.until("both are there", func() bool { return f.Counters.Fetched.Load() == 2 })
			stop()
			if p.there(t) != "late=late wrong=right" {
				t.Errorf("there is %s", p.there(t))
			}
		})
	}
}

// A server that goes away in the middle of a file keeps no part of it under its name; when it is back, the file is
// delivered, and nothing else is left there.
func TestSenderOutlivesTheServer(t *testing.T) {
	h := newHouse(t)
	dir := h.t.TempDir()
	s := openssh.Start(h.t, dir)
	h.knows(s)
	server := "sftp://" + s.User + "@" + s.Addr
	h.credentials(server + "/ ssh_keyfile=" + s.KeyFile)
	p := partner{dir: filepath.Join(dir, "in")}
	text := strings.Repeat("0123456789abcdef", 1<<17)
	h.write("pub/big", text)
	f, stop := h.run(config.Sender, "-base_dir", h.dir+"/pub", "-destination", server+"/~/in", "-kbytes_ps", "2000", "-attempts", "1", "-inflight", "tmp/")
	h.post("xpublic", h.of("big", text, 0))
	h.until("it has begun", func() bool {
		info, err := os.Stat(filepath.Join(p.dir, "tmp/big"))
		return err == nil && info.Size() > 0
	})
	s.Restart(t)
	h.until("it is tried again", func() bool { return f.Counters.Retried.Load() >= 1 })
	if _, err := os.Stat(filepath.Join(p.dir, "big")); err == nil {
		t.Error("a part of it has its name")
	}
	h.until("it is delivered", func() bool { return f.Counters.Fetched.Load() == 1 })
	stop()
	if p.there(t) != "big="+text {
		t.Errorf("there is %.100s", p.there(t))
	}
}

// A part file is delivered as the file it is, and announced as the block it holds; with inplace off, so is a
// block of a file that is whole here.
func TestSenderParts(t *testing.T) {
	for name, start := range partners() {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			p := start(h)
			const part = "f.4.2.1.1.d.Part"
			h.write("pub/"+part, "x")
			h.write("pub/f", "12345")
			got := h.capture("xcopy")
			f, stop := h.run(config.Sender, "-base_dir", h.dir+"/pub", "-destination", p.url, "-inplace", "off", "-pb", "sqlite://"+h.db, "-post_exchange", "xcopy")
			parted, block := h.of(part, "x", 0), h.of("f", "1234", 0)
			parted.Block = partition.Block{Method: partition.Parted, Size: 4, Count: 2, Remainder: 1, Number: 1}
			block.Block = partition.Block{Method: partition.Inplace, Size: 4, Count: 2, Remainder: 1}
			h.post("xpublic", parted, block)
			h.until("both are announced", func() bool { return len(got()) == 2 })
			stop()
			block.Block.Method = partition.Parted
			const first = "f.4.2.1.0.d.Part"
			for _, a := range got() {
				if a.Path == part && a.Block != parted.Block || a.Path == first && a.Block != block.Block || a.Path != part && a.Path != first {
					t.Errorf("%+v", a)
				}
			}
			if p.there(t) != first+"=1234 "+part+"=x" || f.Counters.Fetched.Load() != 2 {
				t.Errorf("there is %s", p.there(t))
			}
		})
	}
}

// sr_poll(1): what is new at a server is announced with its URL and no password, and fetched from there.
func TestPollServers(t *testing.T) {
	for name, start := range partners() {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			p := start(h)
			write := func(path, text string, age time.Duration) {
				t.Helper()
				at := filepath.Join(p.dir, path)
				if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				then := time.Now().Add(-age)
				if err := os.Chtimes(at, then, then); err != nil {
					t.Fatal(err)
				}
			}
			write("pub/a b#c?é.txt", "one", time.Hour)
			write("pub/sub/two.txt", "two", time.Hour)
			write("pub/young.txt", "young", 0)
			write("pub/left.tmp", "left", time.Hour)
			write("pub/closed.txt", "closed", time.Hour)
			if err := os.Chmod(filepath.Join(p.dir, "pub/closed.txt"), 0o200); err != nil {
				t.Fatal(err)
			}
			args := []string{"-destination", p.url, "-inflight", "10m", "-directory", "pub", "-accept", `.*\.txt`}
			f, _ := h.run(config.Subscribe, "-exchange", "xout", "-mirror", "-directory", h.dir+"/got")
			h.expect("at first", h.polled(args...), "pub/a b#c?é.txt", "pub/sub/two.txt")
			h.until("both are fetched", func() bool { return f.Counters.Fetched.Load() == 2 })
			if h.content("got/pub/a b#c?é.txt") != "one" || h.content("got/pub/sub/two.txt") != "two" {
				t.Error("what is fetched is something else")
			}
			write("pub/sub/two.txt", "second", 30*time.Minute)
			h.expect("a change", h.polled(args...), "pub/sub/two.txt")
			h.expect("no change", h.polled(append(args, "-suppress_duplicates", "off")...))
			if strings.Contains(h.log.String(), "s3cret") {
				t.Error("the password is in the log")
			}
		})
	}
}

// Where the destination has no path, a directory that begins with a slash is one from the root of the server, as
// it was with v02, and is announced as such; two kinds of directories in one configuration are refused.
func TestAbsoluteDirectories(t *testing.T) {
	for name, start := range partners() {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			p := start(h)
			server := strings.TrimSuffix(p.url, p.home+"in")
			h.write("pub/foo", "foo")
			got := h.capture("xcopy")
			args := []string{"-base_dir", h.dir + "/pub", "-destination", server}
			f, stop := h.run(config.Sender, append(args, "-pb", "sqlite://"+h.db, "-post_exchange", "xcopy", "-directory", p.root+"/in")...)
			h.post("xpublic", h.of("foo", "foo", 0))
			h.until("it is announced", func() bool { return len(got()) == 1 })
			stop()
			if a := got()[0]; p.there(t) != "foo=foo" || a.Base != server+"//" || a.Path != p.root[1:]+"/in/foo" {
				t.Errorf("announced %s %s, there is %s", a.Base, a.Path, p.there(t))
			}
			then := time.Now().Add(-time.Hour)
			if err := os.Chtimes(filepath.Join(p.dir, "foo"), then, then); err != nil {
				t.Fatal(err)
			}
			g, _ := h.run(config.Subscribe, "-exchange", "xout", "-directory", h.dir+"/got")
			if n := len(h.polled("-destination", server, "-directory", p.root+"/in", "-accept", ".*")); n != 1 {
				t.Errorf("announced %d", n)
			}
			h.until("it is fetched", func() bool { return g.Counters.Fetched.Load() == 1 && h.content("got/foo") == "foo" })
			if u, err := serverURL(h.config(config.Sender, append(args, "-directory", "in")...), server); err != nil || u.String()+"/" != server+p.home && u.String() != server {
				t.Errorf("%v, %v", u, err)
			}
			_, err := NewFlow(h.config(config.Sender, append(args, "-directory", "/a", "-accept", "x", "-directory", "b", "-accept", "y")...), h.host())
			if !errors.Is(err, errMixedDirectories) || f == nil {
				t.Errorf("%v", err)
			}
		})
	}
}

// With delete what is fetched from a server goes there, as long as it is what was fetched.
func TestDeleteAtServers(t *testing.T) {
	for name, start := range partners() {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			p := start(h)
			if err := os.MkdirAll(p.dir, 0o755); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"foo", "stays"} {
				if err := os.WriteFile(filepath.Join(p.dir, name), []byte(name), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			f, stop := h.run(config.Subscribe, "-directory", h.dir+"/got", "-delete", "-attempts", "1", "-sum_mismatch", "strict")
			h.post("xpublic", announced(p.url+"/", "foo", "foo", 1700000000), announced(p.url+"/", "stays", "other", 1700000000))
			h.until("one is done", func() bool { return f.Counters.Fetched.Load() == 1 && f.Counters.Retried.Load() >= 1 })
			h.until("its source is removed", func() bool { return strings.Contains(h.log.String(), `msg="source removed"`) })
			stop()
			if p.there(t) != "stays=stays" || h.content("got/foo") != "foo" {
				t.Errorf("there is %s", p.there(t))
			}
		})
	}
}
