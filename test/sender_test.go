package test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"srpump/test/openssh"
	"srpump/test/vsftpd"
)

// kill -9 of sr_sender at random moments: every file is delivered, equal, and announced there at least
// once; nothing else is at the destination.
func TestKillSender(t *testing.T) {
	onBothBrokers(t, func(t *testing.T, url string) {
		h, files := newHost(t), newCorpus(scale(800, 5000))
		files.write(t, h.path("pub"))
		in, out := fresh("xs_guest"), fresh("xs_guest")
		conn := connect(t, url)
		captureFrom(t, conn, in)
		announced := captureFrom(t, conn, out)
		args := []string{"-b", url, "-exchange", in, "-queue_name", fresh("q_guest"), "-base_dir", h.path("pub"),
			"-destination", "file://" + h.path("there"), "-pb", url, "-post_exchange", out, "-pbu", "http://there.example/"}
		start := func() *running {
			r := h.start("sr_sender", args...)
			r.await("consuming")
			return r
		}
		start().kill()
		h.run(0, "", "sr_post", "-pb", url, "-post_exchange", in, "-pbu", "http://nobody.example/", "-pbd", h.path("pub"), "-p", h.path("pub"))
		last := killAlong(t, scale(6, 50), len(files), func() int { return files.arrived(t, h.path("there")) }, start)
		waitFor(t, "all announced", func() bool { return announced.different() == len(files) },
			func() string { return fmt.Sprintf("%d of %d", announced.different(), len(files)) }, last.text)
		if n := files.arrived(t, h.path("there")); n != len(files) {
			t.Errorf("%d of %d files are there", n, len(files))
		}
		for _, a := range announced.all() {
			if files[a.Path] == nil || a.Base != "http://there.example/" {
				t.Fatalf("announced %s %s", a.Base, a.Path)
			}
		}
		last.stop()
		files.onlyIn(t, h.path("there"))
	})
}

// A place is a server that files are delivered to.
type place struct {
	url, dir   string // of what is delivered, there and on this host
	credential string // line of credentials.conf
}

// places start a server each.
func places() map[string]func(h *host, dir string) place {
	return map[string]func(h *host, dir string) place{
		"ftp": func(h *host, dir string) place {
			addr := vsftpd.Start(h.t, dir, vsftpd.Options{Password: "s3cret"})
			return place{"ftp://ftp@" + addr + "/in", filepath.Join(dir, "in"), "ftp://ftp:s3cret@" + addr + "/"}
		},
		"sftp": func(h *host, dir string) place {
			s := openssh.Start(h.t, dir)
			known, err := os.ReadFile(s.KnownHosts)
			must(h.t, err)
			h.write("home/.ssh/known_hosts", string(known))
			server := "sftp://" + s.User + "@" + s.Addr
			return place{server + dir + "/in", filepath.Join(dir, "in"), server + "/ ssh_keyfile=" + s.KeyFile}
		},
	}
}

// kill -9 of sr_sender while it delivers to a server: every file is there, equal, and announced at least once, with
// all of its blocks where it came in blocks; no other name is there, and no file was ever seen in part.
func TestKillSenderToServer(t *testing.T) {
	t.Parallel() // it waits more than it works
	for name, start := range places() {
		t.Run(name, func(t *testing.T) {
			h, files := newHost(t), newCorpus(scale(400, 3000))
			p := start(h, t.TempDir())
			must(t, os.MkdirAll(p.dir, 0o755))
			h.write("home/.config/sarra/credentials.conf", p.credential+"\n")
			files["big"] = bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
			const cut, blocks = 12, 16
			for i := range cut {
				files[fmt.Sprintf("cut/f%d", i)] = bytes.Repeat(fmt.Appendf(nil, "%015d\n", i), blocks<<16/16)
			}
			files.write(t, h.path("pub"))
			url := "sqlite://" + h.path("pump.db")
			conn := connect(t, url)
			captureFrom(t, conn, "xin")
			announced := captureFrom(t, conn, "xout")
			args := []string{"-b", url, "-exchange", "xin", "-base_dir", h.path("pub"), "-destination", p.url, "-pb", url, "-post_exchange", "xout"}
			begin := func() *running {
				r := h.start("sr_sender", args...)
				r.await("consuming")
				return r
			}
			begin().kill()
			h.run(0, "", "sr_post", "-pb", url, "-post_exchange", "xin", "-pbu", "http://nobody.example/", "-pbd", h.path("pub"), "-blocksize", "64K", "-p", h.path("pub"))
			last := killAlong(t, scale(6, 30), len(files), func() int { return files.arrived(t, p.dir) }, begin)
			waitFor(t, "all announced", func() bool { return announced.different() == len(files) },
				func() string { return fmt.Sprintf("%d of %d", announced.different(), len(files)) }, last.text)
			if n := files.arrived(t, p.dir); n != len(files) {
				t.Errorf("%d of %d files are there", n, len(files))
			}
			waitFor(t, "all blocks announced", func() bool { return announced.blocksBelow("cut/") == cut*blocks }, last.text)
			for _, a := range announced.all() {
				if files[a.Path] == nil || a.Base != p.url+"/" {
					t.Fatalf("announced %s %s", a.Base, a.Path)
				}
			}
			last.stop()
			files.onlyIn(t, p.dir)
		})
	}
}

// blocksBelow is how many different blocks of files below a directory were announced.
func (k *capture) blocksBelow(dir string) int {
	seen := make(map[string]bool)
	for _, a := range k.all() {
		if a.HasBlock() && a.Block.Count > 1 && strings.HasPrefix(a.Path, dir) {
			seen[a.Path+" "+a.Block.String()] = true
		}
	}
	return len(seen)
}
