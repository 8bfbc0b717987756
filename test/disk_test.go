package test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// nobody is a user who owns nothing.
const nobody = 65534

// newHostOfNobody is a host whose commands run without root's rights.
func newHostOfNobody(t testing.TB) *host {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can become somebody else")
	}
	h := newHost(t)
	must(t, os.Chmod(filepath.Dir(h.dir), 0o755)) // made by TempDir for the test alone
	must(t, os.Mkdir(h.path("home"), 0o755))
	must(t, os.Chown(h.path("home"), nobody, nobody))
	h.uid = nobody
	return h
}

// A directory that may not be written to: said, kept for later, and done once it may.
func TestPermissionDenied(t *testing.T) {
	h, s := newHostOfNobody(t), newHostileServer(t)
	must(t, os.MkdirAll(h.path("dst/open"), 0o755))
	must(t, os.Chown(h.path("dst/open"), nobody, nobody))
	must(t, os.Mkdir(h.path("broker"), 0o777))
	must(t, os.Chmod(h.path("broker"), 0o777))
	h.write("broker/keep", "")
	node := "sqlite://" + h.path("broker/pump.db")
	h.run(0, "", "sr_post", "-pb", node, "-p", h.path("broker/keep")) // nobody makes the broker
	r := newReceiver(t, h, node)
	r.send(t, "20261121000000.5 "+s.URL+"/ shut \n", hello())
	r.send(t, "20261121000000.5 "+s.URL+"/ open/file \n", hello())
	r.await(`fetched path=\S*/dst/open/file`)
	r.await(`\[WARNING\] retry path=\S*/dst/shut .*permission denied`)
	must(t, os.Chmod(h.path("dst"), 0o777))
	r.await(`fetched path=\S*/dst/shut`)
	r.stop()
}

// State that cannot be kept is an error before anything is taken in.
func TestReadOnlyState(t *testing.T) {
	h := newHostOfNobody(t)
	must(t, os.Chown(h.path("home"), 0, 0))
	must(t, os.Mkdir(h.path("broker"), 0o777))
	must(t, os.Chmod(h.path("broker"), 0o777))
	_, said := h.run(1, "", "sr_subscribe", "-b", "sqlite://"+h.path("broker/pump.db"), "-directory", h.path("dst"))
	if !strings.Contains(said, "cannot keep state") || !strings.Contains(said, "permission denied") {
		t.Errorf("it says:\n%s", said)
	}
	h.write("file", "x")
	_, said = h.run(3, "", "sr_post", "-p", h.path("file"))
	if !strings.Contains(said, "permission denied") {
		t.Errorf("sr_post says:\n%s", said)
	}
}

// A file that cannot be read is said and counted, the others are announced.
func TestUnreadableSource(t *testing.T) {
	h := newHostOfNobody(t)
	h.write("src/a", "a")
	h.write("src/b", "b")
	must(t, os.Chmod(h.path("src/a"), 0))
	out, said := h.run(1, "", "sr_post", "-pb", "-", "-p", h.path("src"))
	if !strings.Contains(out, "src/b") || strings.Contains(out, "src/a") {
		t.Errorf("announced:\n%s", out)
	}
	if !strings.Contains(said, "not announced") || !strings.Contains(said, "permission denied") {
		t.Errorf("it says:\n%s", said)
	}
}

// A full disk: said, kept for later, and done once there is room. State lies elsewhere.
func TestDiskFull(t *testing.T) {
	h := newHost(t)
	must(t, os.Mkdir(h.path("dst"), 0o755))
	err := syscall.Mount("tmpfs", h.path("dst"), "tmpfs", 0, "size=1m")
	if errors.Is(err, syscall.EPERM) {
		t.Skip("no right to mount a small disk")
	}
	must(t, err)
	t.Cleanup(func() { _ = syscall.Unmount(h.path("dst"), syscall.MNT_DETACH) })
	for _, name := range []string{"src/one", "src/two"} {
		h.write(name, strings.Repeat(name+"\n", 80_000))
	}
	base := serveDir(t, h.path("src"))
	r := newReceiver(t, h, "sqlite://"+h.path("pump.db"), "-attempts", "1")
	r.send(t, "20261121000000.5 "+base+"/ one \n", map[string]any{"sum": "z,d"})
	r.await(`fetched path=\S*/dst/one`)
	r.send(t, "20261121000000.5 "+base+"/ two \n", map[string]any{"sum": "z,d"})
	r.await(`retry path=\S*/dst/two .*no space left`)
	if got := present(t, h.path("dst")); len(got) != 1 {
		t.Errorf("on the full disk: %q", got)
	}
	must(t, os.Remove(h.path("dst/one")))
	r.await(`fetched path=\S*/dst/two`)
	r.stop()
}

// A disk full of state: nothing is acknowledged that is kept nowhere.
func TestStateDiskFull(t *testing.T) {
	t.Parallel() // it waits more than it works
	h := newHost(t)
	must(t, os.MkdirAll(h.path("state"), 0o755))
	err := syscall.Mount("tmpfs", h.path("state"), "tmpfs", 0, "size=64k")
	if errors.Is(err, syscall.EPERM) {
		t.Skip("no right to mount a small disk")
	}
	must(t, err)
	t.Cleanup(func() { _ = syscall.Unmount(h.path("state"), syscall.MNT_DETACH) })
	r := newReceiver(t, h, "sqlite://"+h.path("pump.db"), "-state_dir", h.path("state"))
	sent := 0
	waitFor(t, "it says that state is kept nowhere", func() bool {
		if strings.Count(r.text(), "kept aside") == sent { // what else is written and removed leaves room for one
			must(t, fill(h.path("state/ballast")))
			sent++
			r.send(t, fmt.Sprint("nospace", sent), nil)
		}
		return strings.Contains(r.text(), "dead letter not written")
	}, r.text)
	must(t, os.Remove(h.path("state/ballast")))
	waitFor(t, "the dead letter", func() bool {
		b, _ := os.ReadFile(h.path("state/subscribe/default/dead_letter.jsonl"))
		return strings.Contains(string(b), fmt.Sprint("nospace", sent))
	}, r.text)
	r.stop(1)
}

// fill adds to a file until the disk is full.
func fill(name string) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		if _, err := f.Write(make([]byte, 4096)); errors.Is(err, syscall.ENOSPC) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// min_free: what would leave less is not begun and status says so; a removal that is announced meanwhile makes room,
// and it goes on by itself.
func TestMinFree(t *testing.T) {
	h := newHost(t)
	smallDisk(t, h.path("dst"), "8m")
	for _, name := range []string{"src/one", "src/two", "src/three"} {
		h.write(name, strings.Repeat("x", 3<<20))
	}
	h.write("home/.config/sarra/subscribe/x.conf", "broker sqlite://"+h.path("pump.db")+"\ndirectory "+h.path("dst")+"\nmin_free 25%\naccept .*\n")
	r := h.start("sr_subscribe", "foreground", "x")
	r.await("consuming")
	post := func(name string) {
		h.run(0, "", "sr_post", "-pb", "sqlite://"+h.path("pump.db"), "-pbu", serveDir(t, h.path("src")), "-pbd", h.path("src"), "-p", h.path("src", name))
	}
	post("one")
	r.await("fetched path=.*/one")
	post("two")
	r.await("fetched path=.*/two")
	post("three")
	r.await(`\[WARNING\] paused, too little free space directory=.*/dst free=2097152 min_free=2097152`)
	if out, _ := h.run(0, "", "sr_subscribe", "status", "x"); !strings.Contains(out, "paused since") || !strings.Contains(out, "too little free space") {
		t.Errorf("status says %s", out)
	}
	if strings.Count(r.text(), "paused") != 1 || r.says(`\bretry\b`) || r.says("three.*fetched") {
		t.Errorf("it says:\n%s", r.text())
	}
	must(t, os.Remove(h.path("src/one")))
	post("one")
	r.await("removed path=.*/one")
	r.await("going on, there is free space again")
	r.await("fetched path=.*/three")
	if out, _ := h.run(0, "", "sr_subscribe", "status", "x"); strings.Contains(out, "paused") {
		t.Errorf("status says %s", out)
	}
	r.stop()
}

// max_file_size: what is announced larger is given up at once; what is not announced at all, once it has brought more.
func TestMaxFileSize(t *testing.T) {
	h, s := newHost(t), newHostileServer(t)
	r := newReceiver(t, h, "sqlite://"+h.path("pump.db"), "-max_file_size", "1k")
	r.send(t, "20261121000000.5 "+s.URL+"/ file \n", map[string]any{"parts": "1,1025,1,0,0", "sum": "0,0"})
	r.await("given up path=.*file .*larger than max_file_size: 1025 bytes, allowed are 1024")
	r.send(t, "20261121000000.5 "+s.URL+"/ endless \n", map[string]any{"sum": "0,0"})
	r.await(`given up path=\S*endless .*more than the 1024 bytes allowed`)
	r.stop(1)
}
