package test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"srpump/test/nginx"
	"srpump/test/openssh"
	"srpump/test/vsftpd"
)

// columns are the schemes: each starts what serves h's directory src, with nothing between that would hold bytes of
// an earlier state, and returns its URL and its line of credentials.conf.
var columns = map[string]func(h *host) (base, credential string){
	"file": func(h *host) (string, string) { return "file:", "" },
	"http": func(h *host) (string, string) { return nginx.Start(h.t, h.path("src")) + "/", "" },
	"sftp": func(h *host) (string, string) {
		s := openssh.Start(h.t, h.path("src"))
		known, err := os.ReadFile(s.KnownHosts)
		must(h.t, err)
		h.write("home/.ssh/known_hosts", string(known))
		server := "sftp://" + s.User + "@" + s.Addr
		return server + h.path("src") + "/", server + "/ ssh_keyfile=" + s.KeyFile
	},
	"ftp": func(h *host) (string, string) {
		addr := vsftpd.Start(h.t, h.path("src"), vsftpd.Options{Password: "s3cret"})
		return "ftp://ftp@" + addr + "/", "ftp://ftp:s3cret@" + addr + "/"
	},
}

// A fault is what becomes of a source while it is fetched.
type fault struct {
	name   string
	strike func(t testing.TB, path string)
	// after makes the state that is announced next of what strike left; nil: it is that.
	after func(t testing.TB, path string)
}

// size of a file: more than the sockets on the way hold.
func faultSize() int { return scale(16<<20, 128<<20) }

// noiseFor are bytes no two seeds share a part of.
func noiseFor(seed string, n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8(sha256.Sum256([]byte(seed))).Read(b)
	return b
}

// faults are the rows.
var faults = []fault{
	{name: "grows", strike: func(t testing.TB, path string) {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		must(t, err)
		defer f.Close()
		_, err = f.Write(noiseFor("more", 3<<20))
		must(t, err)
	}},
	{name: "shrinks", strike: func(t testing.TB, path string) { must(t, os.Truncate(path, int64(faultSize()/4))) }},
	{name: "vanishes", strike: func(t testing.TB, path string) { must(t, os.Remove(path)) },
		after: func(t testing.TB, path string) { must(t, os.WriteFile(path, noiseFor("back", faultSize()), 0o644)) }},
	{name: "replaced", strike: func(t testing.TB, path string) {
		must(t, os.WriteFile(path+".next", noiseFor("replaced", faultSize()), 0o644))
		must(t, os.Rename(path+".next", path))
	}},
	{name: "overwritten", strike: func(t testing.TB, path string) { overwrite(t, path) }},
	{name: "forged", strike: func(t testing.TB, path string) { // overwritten, and its time put back
		fi, err := os.Stat(path)
		must(t, err)
		overwrite(t, path)
		must(t, os.Chtimes(path, fi.ModTime(), fi.ModTime()))
	}},
}

// overwrite gives a file other bytes without any moment at which it is shorter.
func overwrite(t testing.TB, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	must(t, err)
	defer f.Close()
	_, err = f.Write(noiseFor("over", faultSize()))
	must(t, err)
}

// A source that changes in the midst of its fetch, by any scheme, whole or in blocks, with and without a kill at that
// moment: under the final name there is never anything but a state the source was in, and the one announced last is
// what remains.
func TestFaults(t *testing.T) {
	for scheme, serve := range columns {
		for form, args := range map[string][]string{"whole": nil, "blocks": {"-blocksize", fmt.Sprintf("%dB", faultSize()/16)}} {
			for _, kills := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/kills=%v", scheme, form, kills), func(t *testing.T) {
					t.Parallel()
					if form == "whole" && kills {
						c := newFaulty(t, serve, args, scale(28_000, 100_000))
						c.strikeTogether(t)
						c.arrive(t)
						return
					}
					c := newFaulty(t, serve, args, scale(50_000, 100_000))
					c.strikeEach(t, kills)
					c.arrive(t)
				})
			}
		}
	}
}

// A faulty is a flow whose sources have all the faults, one each.
type faulty struct {
	*host
	base   string
	cut    []string // arguments of sr_post
	flow   *running
	states map[string]map[[32]byte]bool // digests of what a source was, by its name
	last   map[string][32]byte          // what it is now
	shown  map[string][32]byte          // what is under the final name
	seen   map[string]syscall.Stat_t    // of that
}

func newFaulty(t *testing.T, serve func(*host) (string, string), cut []string, pace int) *faulty {
	h := newHost(t)
	c := &faulty{host: h, cut: cut, states: make(map[string]map[[32]byte]bool),
		last: make(map[string][32]byte), shown: make(map[string][32]byte), seen: make(map[string]syscall.Stat_t)}
	long := time.Now().Add(-time.Hour)
	for _, f := range faults {
		h.write("src/"+f.name, string(noiseFor(f.name, faultSize())))
		must(t, os.Chtimes(h.path("src", f.name), long, long))
		c.record(t, f.name)
	}
	var credential string
	c.base, credential = serve(h)
	h.trust(credential)
	h.write("home/.config/sarra/subscribe/x.conf", fmt.Sprintf("broker sqlite://%s\ndirectory %s\nkbytes_ps %d\ninstances %d\nhost_workers %[4]d\naccept .*\n",
		h.path("pump.db"), h.path("dst"), pace, len(faults)))
	c.start()
	c.post(t)
	return c
}

func (c *faulty) start() {
	c.flow = c.host.start("sr_subscribe", "foreground", "x")
	c.flow.await("consuming")
}

// post announces all sources there are.
func (c *faulty) post(t *testing.T) {
	// A poster that trusts the sum a file keeps would not see one forged.
	args := append([]string{"-xattr_disable", "on", "-pb", "sqlite://" + c.path("pump.db"), "-pbu", c.base}, c.cut...)
	if c.base != "file:" {
		args = append(args, "-pbd", c.path("src"))
	}
	for _, f := range faults {
		args = append(args, "-p", c.path("src", f.name))
	}
	c.run(0, "", "sr_post", args...)
}

// record notes the state a source is in.
func (c *faulty) record(t testing.TB, name string) {
	content, err := os.ReadFile(c.path("src", name))
	must(t, err)
	if c.states[name] == nil {
		c.states[name] = make(map[[32]byte]bool)
	}
	c.last[name] = sha256.Sum256(content)
	c.states[name][c.last[name]] = true
}

// here is how many bytes of a file have come.
func (c *faulty) here(name string) (n int64) {
	temps, _ := filepath.Glob(c.path("dst", "."+name+".*"))
	for _, temp := range temps {
		var st syscall.Stat_t
		if syscall.Stat(temp, &st) == nil {
			n += st.Blocks * 512
		}
	}
	return n
}

// words is how many fetches have left word of how far they came.
func (c *faulty) words(t testing.TB) (n int) {
	words, _ := filepath.Glob(c.path("home/.cache/sarra/subscribe/x/partial/*[0-9a-f]"))
	for _, word := range words {
		var p struct{ Done int64 }
		text, err := os.ReadFile(word)
		if err == nil && json.Unmarshal(text, &p) == nil && p.Done > 0 {
			n++
		}
	}
	return n
}

// strikeTogether has all faults befall their sources when fetches have left word of how far they came, and kills the
// flow at that moment.
func (c *faulty) strikeTogether(t *testing.T) {
	waitFor(t, "word of all", func() bool { return c.words(t) == len(faults) }, c.flow.text)
	for _, f := range faults {
		f.strike(t, c.path("src", f.name))
	}
	c.again(t)
}

// strikeEach has each fault befall its source when a third of it is here; with kills the flow is killed at each.
func (c *faulty) strikeEach(t *testing.T, kills bool) {
	for _, f := range faults {
		waitFor(t, f.name+" is on its way", func() bool {
			return c.here(f.name) >= int64(faultSize()/3) || exists(c.path("dst", f.name))
		}, c.flow.text)
		f.strike(t, c.path("src", f.name))
		if kills {
			c.again(t)
		}
	}
}

// again kills the flow and starts it.
func (c *faulty) again(t *testing.T) {
	c.flow.kill()
	c.verify(t)
	c.start()
}

// arrive announces what the sources are now, and waits until that and nothing else is here.
func (c *faulty) arrive(t *testing.T) {
	for _, f := range faults {
		if f.after != nil {
			f.after(t, c.path("src", f.name))
		}
		c.record(t, f.name)
	}
	c.post(t)
	for _, f := range faults {
		waitFor(t, f.name+": what it is now", func() bool {
			c.verify(t)
			return c.shown[f.name] == c.last[f.name]
		}, c.flow.text)
	}
	c.flow.stop()
	c.verify(t)
	for _, f := range faults {
		if c.shown[f.name] != c.last[f.name] {
			t.Errorf("%s did not remain", f.name)
		}
	}
	if names := present(t, c.path("dst")); len(names) != len(faults) {
		t.Errorf("left behind: %q", names)
	}
}

// verify fails the test where something that was never the source stands under a final name.
func (c *faulty) verify(t *testing.T) {
	for _, f := range faults {
		file, err := os.Open(c.path("dst", f.name))
		if err != nil {
			continue
		}
		var st syscall.Stat_t
		must(t, syscall.Fstat(int(file.Fd()), &st))
		st.Atim, st.Nlink = syscall.Timespec{}, 0
		if c.seen[f.name] != st {
			content, err := io.ReadAll(file)
			must(t, err)
			c.shown[f.name] = sha256.Sum256(content)
			if !c.states[f.name][c.shown[f.name]] {
				t.Fatalf("%s: %d bytes that it never was\n%s", f.name, len(content), c.flow.text())
			}
			c.seen[f.name] = st
		}
		file.Close()
	}
}
