package test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
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
	shows  bool // without a checksum too, by the size or the time
	strike func(t testing.TB, path string)
	// after makes the state that is announced next of what strike left; nil: it is that.
	after func(t testing.TB, path string)
}

// faultSize is the size of a file, of which the sockets on the way hold a part.
func faultSize() int { return scale(9<<20, 128<<20) }

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
	{name: "shrinks", shows: true, strike: func(t testing.TB, path string) { must(t, os.Truncate(path, int64(faultSize()/4))) }},
	{name: "vanishes", strike: func(t testing.TB, path string) { must(t, os.Remove(path)) },
		after: func(t testing.TB, path string) { must(t, os.WriteFile(path, noiseFor("back", faultSize()), 0o644)) }},
	{name: "replaced", shows: true, strike: func(t testing.TB, path string) {
		must(t, os.WriteFile(path+".next", noiseFor("replaced", faultSize()), 0o644))
		must(t, os.Rename(path+".next", path))
	}},
	{name: "overwritten", shows: true, strike: func(t testing.TB, path string) { overwrite(t, path) }},
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

// A source that changes in the midst of its fetch, by any scheme, whole, without a checksum or in blocks, with and
// without a kill at that moment: under the final name there is never anything but a state the source was in, and the
// one announced last is what remains.
func TestFaults(t *testing.T) {
	for scheme, serve := range columns {
		for _, kills := range []bool{false, true} {
			if kills && !long() && (scheme == "file" || scheme == "ftp") { // they go on as the others do
				continue
			}
			t.Run(fmt.Sprintf("%s/kills=%v", scheme, kills), func(t *testing.T) {
				t.Parallel()
				c := newFaulty(t, serve, kills)
				if kills {
					c.strikeTogether(t, c.at("whole", "unsummed"))
					c.strikeEach(t, c.at("blocks"), c.again)
				} else {
					c.strikeEach(t, c.sources, func(testing.TB) {})
				}
				c.arrive(t)
			})
		}
	}
}

// forms are how a file is announced, as arguments of sr_post. A poster that trusts the sum a file keeps would not
// see one forged.
func forms() map[string][]string {
	return map[string][]string{
		"whole":    {"-xattr_disable", "on"},
		"unsummed": {"-sum", "0"},
		"blocks":   {"-xattr_disable", "on", "-blocksize", fmt.Sprintf("%dB", faultSize()/9)},
	}
}

// A faultySource is one file that meets one fault.
type faultySource struct {
	fault
	form string
	file string // its name

	states map[[32]byte]bool // digests of what it was
	last   [32]byte          // of what it is now
	shown  [32]byte          // of what is under the final name
	seen   syscall.Stat_t    // of that
}

// A faulty is a flow whose sources have all the faults, one each.
type faulty struct {
	*host
	base    string
	flow    *running
	sources []*faultySource
}

// formNames are the forms in the order they are announced in.
func formNames() []string { return []string{"whole", "unsummed", "blocks"} }

func newFaulty(t *testing.T, serve func(*host) (string, string), kills bool) *faulty {
	c := &faulty{host: newHost(t)}
	long := time.Now().Add(-time.Hour)
	for _, form := range formNames() {
		for _, f := range faults {
			if form == "unsummed" && !f.shows {
				continue
			}
			s := &faultySource{fault: f, form: form, file: form + "-" + f.name, states: make(map[[32]byte]bool)}
			c.sources = append(c.sources, s)
			c.write("src/"+s.file, string(noiseFor(s.file, faultSize())))
			must(t, os.Chtimes(c.path("src", s.file), long, long))
			c.record(t, s)
		}
	}
	var credential string
	c.base, credential = serve(c.host)
	c.trust(credential)
	c.write("home/.config/sarra/subscribe/x.conf", fmt.Sprintf("broker sqlite://%s\ndirectory %s\nkbytes_ps 35000\ninstances %d\nhost_workers %[3]d\nfsync %s\naccept .*\n",
		c.path("pump.db"), c.path("dst"), len(c.sources), map[bool]string{false: "off", true: "group"}[kills]))
	c.start()
	c.post(t)
	return c
}

// at are the sources of some forms.
func (c *faulty) at(forms ...string) (out []*faultySource) {
	for _, s := range c.sources {
		if slices.Contains(forms, s.form) {
			out = append(out, s)
		}
	}
	return out
}

func (c *faulty) start() {
	c.flow = c.host.start("sr_subscribe", "foreground", "x")
	c.flow.await("consuming")
}

// post announces all sources.
func (c *faulty) post(t *testing.T) {
	for _, form := range formNames() {
		args := append([]string{"-pb", "sqlite://" + c.path("pump.db"), "-pbu", c.base}, forms()[form]...)
		if c.base != "file:" {
			args = append(args, "-pbd", c.path("src"))
		}
		for _, s := range c.at(form) {
			args = append(args, "-p", c.path("src", s.file))
		}
		c.run(0, "", "sr_post", args...)
	}
}

// record notes the state a source is in.
func (c *faulty) record(t testing.TB, s *faultySource) {
	content, err := os.ReadFile(c.path("src", s.file))
	must(t, err)
	s.last = sha256.Sum256(content)
	s.states[s.last] = true
}

// here is how many bytes of a file have come.
func (c *faulty) here(s *faultySource) (n int64) {
	temps, _ := filepath.Glob(c.path("dst", "."+s.file+".*"))
	for _, temp := range temps {
		var st syscall.Stat_t
		if syscall.Stat(temp, &st) == nil {
			n += st.Blocks * 512
		}
	}
	return n
}

// words is how many fetches have left word of how far they came.
func (c *faulty) words() (n int) {
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

// befall has a source meet its fault.
func (c *faulty) befall(t *testing.T, s *faultySource) {
	path := c.path("src", s.file)
	if s.strike(t, path); exists(path) {
		c.record(t, s)
	}
}

// strikeTogether has all faults befall some sources when their fetches have left word of how far they came, and
// kills the flow at that moment.
func (c *faulty) strikeTogether(t *testing.T, sources []*faultySource) {
	waitFor(t, "word of all", func() bool {
		late := slices.ContainsFunc(sources, func(s *faultySource) bool { return exists(c.path("dst", s.file)) })
		return late || c.words() == len(sources)
	}, c.flow.text)
	t.Logf("struck when %d of %d could be gone on with", c.words(), len(sources))
	for _, s := range sources {
		c.befall(t, s)
	}
	c.again(t)
}

// strikeEach has each fault befall its source when a third of it is here, and does something then.
func (c *faulty) strikeEach(t *testing.T, sources []*faultySource, then func(testing.TB)) {
	for _, s := range sources {
		waitFor(t, s.file+" is on its way", func() bool {
			return c.here(s) >= int64(faultSize()/3) || exists(c.path("dst", s.file))
		}, c.flow.text)
		c.befall(t, s)
		then(t)
	}
}

// again kills the flow and starts it.
func (c *faulty) again(t testing.TB) {
	c.flow.kill()
	c.verify(t)
	c.start()
}

// arrive announces what the sources are now, and waits until that and nothing else is here.
func (c *faulty) arrive(t *testing.T) {
	for _, s := range c.sources {
		if s.after != nil {
			s.after(t, c.path("src", s.file))
		}
		c.record(t, s)
	}
	c.post(t)
	for _, s := range c.sources {
		waitFor(t, s.file+": what it is now", func() bool {
			c.verify(t)
			return s.shown == s.last
		}, c.flow.text)
	}
	waitFor(t, "nothing but them", func() bool { return len(present(t, c.path("dst"))) == len(c.sources) }, c.flow.text)
	c.flow.stop()
	c.verify(t)
	for _, s := range c.sources {
		if s.shown != s.last {
			t.Errorf("%s did not remain", s.file)
		}
	}
}

// verify fails the test where something that was never the source stands under a final name.
func (c *faulty) verify(t testing.TB) {
	for _, s := range c.sources {
		file, err := os.Open(c.path("dst", s.file))
		if err != nil {
			continue
		}
		var st syscall.Stat_t
		must(t, syscall.Fstat(int(file.Fd()), &st))
		st.Atim = syscall.Timespec{}
		if s.seen != st {
			content, err := io.ReadAll(file)
			must(t, err)
			s.shown, s.seen = sha256.Sum256(content), st
			if !s.states[s.shown] {
				t.Fatalf("%s: %d bytes that it never was\n%s", s.file, len(content), c.flow.text())
			}
		}
		file.Close()
	}
}
