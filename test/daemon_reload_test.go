package test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"srpump/test/rabbit"
)

// A configuration is read again under load, and nothing is lost: neither when it is good nor when it
// is broken or its broker refuses it.
func TestReloadUnderLoad(t *testing.T) {
	h := newDaemonHost(t)
	files := newCorpus(scale(400, 4000))
	files.write(t, h.path("tree"))
	conf := "broker sqlite:" + h.path("b.db") + "\nmirror on\ndirectory " + h.path("in") + "\n"
	h.configure("subscribe", "x", conf)
	h.run(0, "", "sr_subscribe", "start", "x")
	for i := range 4 {
		part := h.start("sr_post", "-pb", "sqlite:"+h.path("b.db"), "-pbd", h.path("tree"), "-p", h.path("tree"))
		for _, text := range []string{conf + "instances 3\n", "instances many\n", conf + "broker amqp://nobody@127.0.0.1/\n", conf} {
			before := strings.Count(h.startLog("x"), "configuration read again") + strings.Count(h.startLog("x"), "configuration not read again")
			h.configure("subscribe", "x", text)
			signalHolder(t, h, "x")
			waitFor(t, "nothing is read again", func() bool {
				return strings.Count(h.startLog("x"), "configuration read again")+strings.Count(h.startLog("x"), "configuration not read again") > before
			})
		}
		<-part.ended
		if part.cmd.ProcessState.ExitCode() != 0 {
			t.Fatalf("round %d: %s", i, part.text())
		}
	}
	waitFor(t, "not all arrives", func() bool { return files.arrived(t, h.path("in")) == len(files) }, func() string { return h.startLog("x") })
	h.run(0, "", "sr_subscribe", "stop", "x")
	if n := strings.Count(h.startLog("x"), "configuration read again"); n < 8 {
		t.Errorf("read again only %d times", n)
	}
	if _, err := os.Stat(h.state("x", "dead_letter.jsonl")); err == nil {
		t.Error("something was given up")
	}
}

// signalHolder sends SIGHUP to the process of a configuration, as reload does, which would look at
// the configuration first.
func signalHolder(t testing.TB, h *host, config string) {
	t.Helper()
	out, _ := h.run(0, "", "sr", "dump")
	for _, c := range h.parse(out).Configurations {
		if c.Config == config && c.PID > 0 {
			must(t, syscall.Kill(c.PID, syscall.SIGHUP))
			return
		}
	}
	t.Fatalf("%s does not run: %s", config, h.startLog(config))
}

// What the broker refuses only when asked is found out when the old flow has ended; it comes back.
func TestReloadRefused(t *testing.T) {
	url := rabbit.Start(t).URL("guest")
	h := newDaemonHost(t)
	exchange := fresh("xs_guest")
	captureFrom(t, connect(t, url), exchange)
	conf := fmt.Sprintf("broker %s\nexchange %s\nsubtopic #\ndirectory %s\n", url, exchange, h.path("in"))
	h.configure("subscribe", "x", conf)
	h.run(0, "", "sr_subscribe", "start", "x")
	h.configure("subscribe", "x", strings.Replace(conf, exchange, "xs_nowhere_at_all", 1))
	h.run(0, "", "sr_subscribe", "reload", "x")
	h.logged("x", "configuration does not work, going on with the one before", 1)
	h.logged("x", "consuming", 2)
	h.write("tree/f", "hello\n")
	web := serveDir(t, h.path("tree")) + "/"
	h.run(0, "", "sr_post", "-pb", url, "-post_exchange", exchange, "-pbu", web, "-pbd", h.path("tree"), "-p", h.path("tree/f"))
	waitFor(t, "it does not arrive", func() bool { _, err := os.Stat(h.path("in/f")); return err == nil }, func() string { return h.startLog("x") })
	h.run(0, "", "sr_subscribe", "stop", "x")
}

// A broker that accepts and says nothing keeps neither a start nor a stop.
func TestStopWithSilentBroker(t *testing.T) {
	t.Parallel() // it waits more than it works
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	h := newDaemonHost(t)
	h.configure("subscribe", "x", fmt.Sprintf("broker amqp://guest:guest@%s/\ndirectory %s\n", l.Addr(), h.path("in")))
	out, errs := h.run(0, "", "sr_subscribe", "start", "x")
	if !strings.Contains(errs, "not ready after") {
		t.Errorf("said %q %q", out, errs)
	}
	_, errs = h.run(0, "", "sr_subscribe", "stop", "x")
	if errs != "" || len(h.processes()) != 0 {
		t.Errorf("said %q; %v run", errs, h.processes())
	}
}

// A log goes on in a new file after each period, also over a reload, with crashes in it too.
func TestDaemonLogRotates(t *testing.T) {
	h := newDaemonHost(t)
	must(t, os.MkdirAll(h.path("logs"), 0o755))
	h.configure("subscribe", "x", "log "+h.path("logs")+"\nlogrotate_interval 1s\nlogrotate 2\nheartbeat 1s\ndirectory "+h.path("in")+"\n")
	h.run(0, "", "sr_subscribe", "start", "x")
	rotated := func() []string {
		files, _ := filepath.Glob(h.path("logs/sr_subscribe_x_01.log.*"))
		return files
	}
	waitFor(t, "no second file", func() bool { return len(rotated()) == 2 })
	first := rotated()[0]
	h.run(0, "", "sr_subscribe", "reload", "x")
	waitFor(t, "the oldest file stays", func() bool { _, err := os.Stat(first); return err != nil })
	h.run(0, "", "sr_subscribe", "stop", "x")
	if n := len(rotated()); n > 2 {
		t.Errorf("%d old files", n)
	}
	fi, err := os.Stat(h.path("logs/sr_subscribe_x_01.log"))
	if err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", fi, err)
	}
}
