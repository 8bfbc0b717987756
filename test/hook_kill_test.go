package test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A co-process that has each event on record, with its own number, before it answers; it goes on when
// its input ends.
const recorder = `#!/bin/sh
trap '' TERM HUP PIPE
echo $$ >>"$1.pids"
while read -r line; do
	printf '%s\n' "$line" >>"$1"
	echo true
done
exec sleep 1000
`

// recorded are the paths a recorder was shown, and how often.
func (h *host) recorded(name string) map[string]int {
	text, _ := os.ReadFile(h.path(name))
	shown := make(map[string]int)
	for line := range strings.Lines(string(text)) {
		if _, rest, ok := strings.Cut(line, `"relpath":"`); ok {
			path, _, _ := strings.Cut(rest, `"`)
			shown[path]++
		}
	}
	return shown
}

// outlived are the recorders that live. One that is gone may still have to be waited for.
func (h *host) outlived(name string) (pids []int) {
	text, _ := os.ReadFile(h.path(name + ".pids"))
	for _, word := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(word)
		must(h.t, err)
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err == nil && !strings.Contains(string(status), ") Z ") && unix.Kill(pid, 0) == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// kill -9 with co-processes and a program for each file at work: every file arrives, is announced, and was
// shown to each hook by then; no co-process outlives its flow, though it does not look at the end of its
// input.
func TestKillHooks(t *testing.T) {
	onBothBrokers(t, func(t *testing.T, url string) {
		h, files, kills := newHost(t), newCorpus(scale(300, 3000)), scale(5, 40)
		files.write(t, h.path("src"))
		h.write("record", recorder)
		must(t, os.Chmod(h.path("record"), 0o755))
		in, out := fresh("xs_guest"), fresh("xs_guest")
		conn := connect(t, url)
		captureFrom(t, conn, in)
		announced := captureFrom(t, conn, out)
		args := []string{"-b", url, "-exchange", in, "-pb", url, "-post_exchange", out, "-queue_name", fresh("q_guest"),
			"-sd", "1h", "-directory", h.path("dst"), "-pbd", h.path("dst"), "-pbu", "http://copy/",
			"-on_message", "exec:" + h.path("record") + " " + h.path("messages"),
			"-on_file", "exec:" + h.path("record") + " " + h.path("files"), "-on_part", "cmd:test -s ${file}"}
		ended := func() bool { return len(h.outlived("messages"))+len(h.outlived("files")) == 0 }
		start := func() *running {
			waitFor(t, "the co-processes of a killed flow have ended", ended)
			r := h.start("sr_sarra", args...)
			r.await("consuming")
			return r
		}
		start().kill()
		h.run(0, "", "sr_post", "-pb", url, "-post_exchange", in, "-pbu", serveDir(t, h.path("src")), "-pbd", h.path("src"), "-p", h.path("src"))
		last := killAlong(t, kills, len(files), announced.len, start)
		waitFor(t, "all announced", func() bool { return announced.len() == len(files) },
			func() string { return fmt.Sprintf("%d of %d", announced.len(), len(files)) }, last.text)
		if n := files.arrived(t, h.path("dst")); n != len(files) {
			t.Errorf("%d of %d files arrived", n, len(files))
		}
		messages, shown := h.recorded("messages"), h.recorded("files")
		for name := range files {
			if messages[name] == 0 || shown[name] == 0 {
				t.Errorf("%s: on_message saw it %d times, on_file %d", name, messages[name], shown[name])
			}
		}
		last.stop()
		waitFor(t, "the co-processes of a stopped flow have ended", ended)
		files.onlyIn(t, h.path("dst"))
	})
}
