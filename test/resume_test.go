package test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"srpump/test/cutproxy"
	"srpump/test/nginx"
	"srpump/test/openssh"
	"srpump/test/vsftpd"
)

// inSocket is more than sockets and buffers on the way hold of what nobody will read.
const inSocket = 20 << 20

// bigFile makes a file of so many MiB in which no part is like another.
func bigFile(t testing.TB, h *host, name string, mib int) (size int64) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(h.path(name)), 0o755))
	f, err := os.Create(h.path(name))
	must(t, err)
	defer f.Close()
	noise, part := rand.NewChaCha8([32]byte{byte(mib)}), make([]byte, 1<<20)
	for range mib {
		_, _ = noise.Read(part)
		_, err = f.Write(part)
		must(t, err)
	}
	return int64(mib) << 20
}

// kept is how many bytes of the one interrupted fetch of a flow are said to be durable.
func kept(t testing.TB, h *host) int64 {
	t.Helper()
	words, err := filepath.Glob(h.path("home/.cache/sarra/subscribe/x/partial/*[0-9a-f]"))
	must(t, err)
	if len(words) != 1 {
		return 0
	}
	var word struct{ Done int64 }
	text, err := os.ReadFile(words[0])
	must(t, err)
	must(t, json.Unmarshal(text, &word))
	return word.Done
}

// here is how big the temporary file of an interrupted fetch is.
func here(h *host) int64 {
	temps, _ := filepath.Glob(h.path("dst/.big.*.tmp"))
	if len(temps) != 1 {
		return 0
	}
	fi, err := os.Stat(temps[0])
	if err != nil {
		return 0
	}
	return fi.Size()
}

// A route is a server of h's directory src that is reached through a proxy.
type route struct {
	proxy      *cutproxy.Proxy
	base       string // URL of src, with its slash
	credential string // line of credentials.conf; empty: none is needed
}

// routes start a server each.
func routes() map[string]func(h *host) route {
	return map[string]func(h *host) route{
		"http": func(h *host) route {
			proxy := cutproxy.New(h.t, strings.TrimPrefix(nginx.Start(h.t, h.path("src")), "http://"))
			return route{proxy, "http://" + proxy.Addr() + "/", ""}
		},
		"sftp": func(h *host) route {
			s := openssh.Start(h.t, h.path("src"))
			proxy := cutproxy.New(h.t, s.Addr)
			s.Know(h.t, proxy.Addr())
			known, err := os.ReadFile(s.KnownHosts)
			must(h.t, err)
			h.write("home/.ssh/known_hosts", string(known))
			server := "sftp://" + s.User + "@" + proxy.Addr()
			return route{proxy, server + h.path("src") + "/", server + "/ ssh_keyfile=" + s.KeyFile}
		},
		"ftp": func(h *host) route {
			proxy := cutproxy.NewFTP(h.t, vsftpd.Start(h.t, h.path("src"), vsftpd.Options{Password: "s3cret"}))
			return route{proxy, "ftp://ftp@" + proxy.Addr() + "/", "ftp://ftp:s3cret@" + proxy.Addr() + "/"}
		},
	}
}

// trust makes the host of h use a credential.
func (h *host) trust(line string) {
	h.write("home/.config/sarra/credentials.conf", line+"\n")
	must(h.t, os.Chmod(h.path("home/.config/sarra/credentials.conf"), 0o600))
}

// kill -9 at random moments of one big fetch: the file is verified in the end, and nothing that was durable is
// fetched twice.
func TestKillBigFetch(t *testing.T) {
	t.Parallel() // it waits more than it works
	for name, start := range routes() {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			size := bigFile(t, h, "src/big", scale(64, 1024))
			w := start(h)
			h.trust(w.credential)
			resumeThroughKills(t, h, w.proxy, w.base, size)
		})
	}
}

// resumeThroughKills announces src/big at base, fetches it through the proxy, and kills who fetches.
func resumeThroughKills(t *testing.T, h *host, proxy *cutproxy.Proxy, base string, size int64) {
	h.write("home/.config/sarra/subscribe/x.conf", "broker sqlite://"+h.path("pump.db")+"\ndirectory "+h.path("dst")+"\nkbytes_ps 60000\naccept .*\n")
	start := func() *running {
		r := h.start("sr_subscribe", "foreground", "x")
		r.await("consuming")
		return r
	}
	start().kill()
	h.run(0, "", "sr_post", "-pb", "sqlite://"+h.path("pump.db"), "-pbu", base, "-pbd", h.path("src"), "-p", h.path("src/big"))
	kills, tails := scale(20, 100), int64(0)
	for k := range kills {
		r := start()
		share := size / int64(kills)
		until := min(size-1, int64(k)*share+rand.Int64N(share))
		waitFor(t, "progress", func() bool { return here(h) >= until || r.over() || r.says("fetched path") }, r.text)
		r.kill()
		if r.says("fetched path") {
			break
		}
		tails += here(h) - kept(t, h)
	}
	last := start()
	waitFor(t, "the file", func() bool { return last.says("fetched path") || exists(h.path("dst/big")) }, last.text)
	last.stop()
	sameFile(t, h.path("src/big"), h.path("dst/big"))
	if most := size + tails + int64(kills)*inSocket; proxy.Passed() > most {
		t.Errorf("%d bytes were served, with tails of %d at most %d are right", proxy.Passed(), tails, most)
	}
	if names := present(t, h.path("dst")); len(names) != 1 || kept(t, h) != 0 {
		t.Errorf("left behind: %q", names)
	}
	t.Logf("%d kills, %d MiB fetched twice of %d, %d passed", kills, tails>>20, size>>20, proxy.Passed()>>20)
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

func sameFile(t testing.TB, a, b string) {
	t.Helper()
	one, err := os.ReadFile(a)
	must(t, err)
	two, err := os.ReadFile(b)
	must(t, err)
	if string(one) != string(two) {
		t.Errorf("%s is not %s", b, a)
	}
}

// A connection that is cut at every tenth of the file: the tries that follow go on.
func TestCutBigFetch(t *testing.T) {
	t.Parallel() // it waits more than it works
	for name, start := range routes() {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			size := bigFile(t, h, "src/big", 32)
			w := start(h)
			h.trust(w.credential)
			r := newReceiver(t, h, "sqlite://"+h.path("pump.db"), "-attempts", "30")
			w.proxy.CutAfter(size / 10)
			h.run(0, "", "sr_post", "-pb", "sqlite://"+h.path("pump.db"), "-post_exchange", r.exchange, "-pbu", w.base, "-pbd", h.path("src"), "-p", h.path("src/big"))
			for k := int64(2); k < 10; k++ {
				waitFor(t, "a cut", func() bool { return w.proxy.Passed() >= (k-1)*(size/10) }, r.text)
				w.proxy.CutAfter(size / 10)
			}
			r.await("resumed path")
			r.await("fetched path")
			r.stop()
			sameFile(t, h.path("src/big"), h.path("dst/big"))
		})
	}
}

// A source that changes between the cut and the next try: what arrives is all of it new.
func TestChangedMidway(t *testing.T) {
	h := newHost(t)
	size := bigFile(t, h, "new/big", 16)
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			w.Header().Set("ETag", `"old"`)
			w.Header().Set("Content-Length", fmt.Sprint(size))
			_, _ = w.Write(make([]byte, 12<<20))
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("ETag", `"new"`)
		http.ServeFile(w, r, h.path("new/big"))
	}))
	t.Cleanup(s.Close)
	r := newReceiver(t, h, "sqlite://"+h.path("pump.db"))
	h.run(0, "", "sr_post", "-pb", "sqlite://"+h.path("pump.db"), "-post_exchange", r.exchange, "-pbu", s.URL+"/", "-pbd", h.path("new"), "-p", h.path("new/big"))
	r.await("fetched path")
	if r.says("resumed path") || asked.Load() != 3 {
		t.Errorf("asked %d times:\n%s", asked.Load(), r.text())
	}
	r.stop()
	sameFile(t, h.path("new/big"), h.path("dst/big"))
}
