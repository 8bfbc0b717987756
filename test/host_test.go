package test

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"srpump/pump/retry"
	"srpump/test/rabbit"
)

// A wholeHost is examples/host as its user runs it: 25 configurations over two brokers.
type wholeHost struct {
	*host
	edge, hub *rabbit.Node
	web       string // address of its file server
}

// The host of examples/host: every configuration passes its check, `sr start` starts them, hundreds of
// real files of each source (a thousand in the long form) go through every component while the brokers are killed three times and
// more files arrive, nothing is missing, nothing waits anywhere, and `sr stop` leaves no process.
func TestWholeHost(t *testing.T) {
	t.Parallel() // it waits more than it works
	h := newWholeHost(t)
	t.Cleanup(h.killAll)
	half := filesPerSource() / 2
	h.arrive(0, half)
	h.check()
	h.run(0, "", "sr", "setup")
	h.run(0, "", "sr", "start")
	h.run(0, "", "sr_post", "foreground", "news")

	step := filesPerSource() / 8
	for i, node := range []*rabbit.Node{h.edge, h.hub, h.edge} {
		h.arrive(half+i*step, half+(i+1)*step)
		next := time.NewTimer(10 * time.Second)
		node.Kill()
		if err := node.Restart(); err != nil {
			t.Fatal(err)
		}
		<-next.C
	}
	h.arrive(half+3*step, filesPerSource())
	h.run(0, "", "sr_post", "foreground", "news")

	h.awaitFiles()
	h.awaitEmptyQueues()
	status, _ := h.run(0, "", "sr", "status")
	t.Log("\n" + status)
	h.run(0, "", "sr", "stop")
	if left := h.processes(); len(left) > 0 {
		t.Errorf("still running after sr stop: %q", left)
	}
	h.nothingGivenUp()
}

// hostDeadline is how long the last file may take, with two dozen processes on few processors.
const hostDeadline = 3 * time.Minute

// filesPerSource is how many files go in at each of the sources.
func filesPerSource() int { return scale(240, 1000) }

// sources are the directories below DATA/in where files arrive, and each one's place among the
// copies. The radar comes from two sources at once.
var sources = []struct{ in, out string }{
	{"in/news", "news"}, {"in/a/radar", "radar"}, {"in/b/radar", "radar"},
	{"in/obs", "obs"}, {"in/list", "list"}, {"in/web", "web"}, {"in/local", "local"},
}

func newWholeHost(t *testing.T) *wholeHost {
	h := &wholeHost{host: newHost(t), edge: rabbit.Own(t), hub: rabbit.Own(t), web: freeAddress(t)}
	for _, node := range []*rabbit.Node{h.edge, h.hub} {
		h.addUser(node, "feeder", ".*", ".*", ".*")
		for _, u := range []string{"wx", "client"} {
			h.addUser(node, u, "^q_"+u+".*|^xs_"+u+".*", "^q_"+u+".*|^xs_"+u+".*", "^q_"+u+".*|^x[lrs]_"+u+".*|^x.*public$")
		}
	}
	config := h.path("home/.config/sarra")
	if err := os.CopyFS(config, os.DirFS("../examples/host")); err != nil {
		t.Fatal(err)
	}
	h.replace(config+"/default.conf", "edge.example", h.edge.Addr(), "hub.example", h.hub.Addr(), "127.0.0.1:8000", h.web, "/srv/pump", h.path("data"))
	h.replace(config+"/credentials.conf", "edge.example", h.edge.Addr(), "hub.example", h.hub.Addr())
	for _, s := range sources {
		if err := os.MkdirAll(h.path("data", s.in), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func (h *wholeHost) addUser(node *rabbit.Node, user string, permissions ...string) {
	h.t.Helper()
	_, err := node.Ctl("add_user", user, "SECRET")
	if err == nil {
		_, err = node.Ctl(append([]string{"set_permissions", user}, permissions...)...)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *wholeHost) replace(file string, oldnew ...string) {
	h.t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, []byte(strings.NewReplacer(oldnew...).Replace(string(text))), 0o600)
	}
	if err == nil {
		err = os.Chmod(file, 0o600)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// arrive puts the files from to to (not included) of each source where it is looked for, under
// a name that is complete from its first moment.
func (h *wholeHost) arrive(from, to int) {
	h.t.Helper()
	for n, s := range sources {
		of := n
		if s.in == "in/b/radar" {
			of-- // the same files as the other source
		}
		for _, path := range realFiles(h.t, of*filesPerSource()+from, of*filesPerSource()+to) {
			at := h.path("data", s.in, path.name)
			data, err := os.ReadFile(path.full)
			if err == nil {
				err = os.MkdirAll(filepath.Dir(at), 0o755)
			}
			if err == nil {
				err = os.WriteFile(at+".tmp", data, 0o644)
			}
			if err == nil {
				err = os.Rename(at+".tmp", at)
			}
			if err != nil {
				h.t.Fatal(err)
			}
		}
	}
}

// A realFile is one of the Go toolchain's own sources.
type realFile struct{ full, name string }

// realFiles are the files from to to of the toolchain, in the order of their names.
func realFiles(t testing.TB, from, to int) (out []realFile) {
	t.Helper()
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	must(t, err)
	root, n := filepath.Join(strings.TrimSpace(string(goroot)), "src"), 0
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(d.Name(), ".") {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil // sr_serve hides it
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if n >= to {
			return fs.SkipAll
		}
		if n >= from {
			out = append(out, realFile{path, strings.TrimPrefix(path, root+"/")})
		}
		n++
		return nil
	})
	if err != nil || len(out) != to-from {
		t.Fatalf("%d of %d files of the toolchain: %v", len(out), to-from, err)
	}
	return out
}

// check checks every configuration by its own command.
func (h *wholeHost) check() {
	h.t.Helper()
	found, err := filepath.Glob(h.path("home/.config/sarra/*/*.conf"))
	if err != nil || len(found) != 25 {
		h.t.Fatalf("%d configurations, not 25: %v", len(found), err)
	}
	for _, f := range found {
		h.run(0, "", "sr_"+filepath.Base(filepath.Dir(f)), "check", strings.TrimSuffix(filepath.Base(f), ".conf"))
	}
}

// awaitFiles waits until every copy of every file is where it belongs, and equal.
func (h *wholeHost) awaitFiles() {
	h.t.Helper()
	day := time.Now().UTC().Format("20060102")
	for n, s := range sources {
		if s.in == "in/b/radar" {
			continue
		}
		for _, f := range realFiles(h.t, n*filesPerSource(), (n+1)*filesPerSource()) {
			for _, at := range h.copies(s.out, f.name, day) {
				h.awaitFile(at, f)
			}
		}
	}
}

// copies are the places where a file of one source must arrive.
func (h *wholeHost) copies(source, name, day string) []string {
	if source == "local" {
		return []string{"data/client/local/" + name}
	}
	out := []string{
		"data/pub/" + source + "/" + name, "data/client/all/" + source + "/" + name,
		"data/partner/pub/" + source + "/" + name, "data/client/partner/pub/" + source + "/" + name,
		"data/archive/" + day + "/" + source + "/" + name,
	}
	switch source {
	case "radar":
		out = append(out, "data/client/radar/"+name)
	case "news":
		if !strings.HasSuffix(name, "_test.go") {
			out = append(out, "data/client/news/"+name)
		}
	case "obs":
		out = append(out, "data/client/obs/pub-obs-"+strings.ReplaceAll(name, "/", "-"))
	}
	return out
}

func (h *wholeHost) awaitFile(at string, f realFile) {
	h.t.Helper()
	want, err := os.ReadFile(f.full)
	if err != nil {
		h.t.Fatal(err)
	}
	waitWithin(h.t, hostDeadline, at+" is not the file announced", func() bool {
		got, err := os.ReadFile(h.path(at))
		return err == nil && string(got) == string(want)
	}, h.state)
}

// state is what an operator would look at.
func (h *wholeHost) state() string {
	out, _ := h.command("sr", "status").CombinedOutput()
	for _, node := range []*rabbit.Node{h.edge, h.hub} {
		queues, _ := node.Ctl("list_queues", "name", "messages_ready", "messages_unacknowledged")
		out = append(out, queues...)
	}
	logs, _ := filepath.Glob(h.path("home/.cache/sarra/log/*.log"))
	for _, l := range logs {
		text, _ := os.ReadFile(l)
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, "[ERROR]") || strings.Contains(line, "[WARNING]") {
				out = append(out, filepath.Base(l)+": "+line...)
			}
		}
	}
	return string(out)
}

// awaitEmptyQueues waits until nothing is left in any queue, ready or unacknowledged.
func (h *wholeHost) awaitEmptyQueues() {
	h.t.Helper()
	for _, node := range []*rabbit.Node{h.edge, h.hub} {
		waitWithin(h.t, hostDeadline, "queues are not empty", func() bool {
			out, err := node.Ctl("-q", "list_queues", "--no-table-headers", "messages")
			return err == nil && strings.Trim(out, "0\n\t ") == ""
		}, h.state)
	}
	waitWithin(h.t, hostDeadline, "retry queues are not empty", func() bool { return len(h.retries()) == 0 }, h.state)
}

// nothingGivenUp: no announcement is in a dead-letter file or a retry queue.
func (h *wholeHost) nothingGivenUp() {
	h.t.Helper()
	for _, l := range h.retries() {
		h.t.Errorf("%s: tried %d times, given up: %v, %s", l.Path, l.Tries, l.Dead, l.Why)
	}
}

// retries are all that waits on disk or was given up: what takes long goes there, however it ends.
func (h *wholeHost) retries() (all []retry.Listed) {
	h.t.Helper()
	found, _ := filepath.Glob(h.path("home/.cache/sarra/*/*"))
	for _, dir := range found {
		if fi, err := os.Stat(dir); err != nil || !fi.IsDir() {
			continue // a log
		}
		list, err := retry.List(dir)
		must(h.t, err)
		all = append(all, list...)
	}
	return all
}

// processes are the pids of everything that runs with the home of this host.
func (h *wholeHost) processes() (out []string) {
	found, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range found {
		env, _ := os.ReadFile(f)
		if slices.Contains(strings.Split(string(env), "\x00"), "HOME="+h.path("home")) {
			command, _ := os.ReadFile(filepath.Dir(f) + "/cmdline")
			out = append(out, fmt.Sprint(filepath.Base(filepath.Dir(f)), " ", strings.ReplaceAll(string(command), "\x00", " ")))
		}
	}
	return out
}

// killAll ends what a failed test has left.
func (h *wholeHost) killAll() {
	for _, p := range h.processes() {
		var pid int
		if _, err := fmt.Sscan(p, &pid); err == nil {
			if process, err := os.FindProcess(pid); err == nil {
				_ = process.Kill()
			}
		}
	}
}

// freeAddress is an address nobody listens on.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
