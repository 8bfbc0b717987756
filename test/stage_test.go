package test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// A filter that copies each file below $1, by way of $2, four in hand at a time, and now and then is killed with a
// copy made and not announced, or announced and not answered for.
const copyingFilter = `#!/bin/sh
printf '{"version":1,"window":4}\n'
n=0
while IFS= read -r line; do
	n=$((n + 1))
	id=${line#*'"id":'} path=${line#*'"path":"'} rel=${line#*'"relpath":"'}
	id=${id%%,*} path=${path%%'"'*} rel=${rel%%'"'*}
	mkdir -p "$1/${rel%/*}"
	cp "$path" "$2/$$.$id" && mv "$2/$$.$id" "$1/$rel"
	[ $n -eq $(($$ % 61 + 40)) ] && kill -9 $$
	printf '{"out":"%s","for":%s}\n' "$rel" "$id"
	[ $n -eq $(($$ % 53 + 50)) ] && kill -9 $$
	printf '{"ok":%s}\n' "$id"
done
`

// kill -9 of a flow with a stage, and of its filter, at random moments: in the end every input has been answered
// for, and what was made of it is there, whole, and announced.
func TestKillStage(t *testing.T) {
	onBothBrokers(t, func(t *testing.T, url string) {
		h, files, kills := newHost(t), newCorpus(scale(800, 5000)), scale(6, 30)
		files.write(t, h.path("src"))
		must(t, os.WriteFile(h.path("filter"), []byte(copyingFilter), 0o755))
		for _, dir := range []string{"made", "tmp"} {
			must(t, os.MkdirAll(h.path(dir), 0o755))
		}
		in, out := fresh("xs_guest"), fresh("xs_guest")
		conn := connect(t, url)
		captureFrom(t, conn, in)
		announced := captureFrom(t, conn, out)
		args := []string{"-b", url, "-exchange", in, "-pb", url, "-post_exchange", out, "-queue_name", fresh("q_guest"), "-sd", "1h", "-mirror",
			"-directory", h.path("dst"), "-pbd", h.path("made"), "-pbu", "http://made/", "-prefetch", "32",
			"-stage", fmt.Sprintf("%s %s %s", h.path("filter"), h.path("made"), h.path("tmp"))}
		start := func() *running {
			r := h.start("sr_subscribe", args...)
			r.await("consuming")
			return r
		}
		start().kill()
		h.run(0, "", "sr_post", "-pb", url, "-post_exchange", in, "-pbu", serveDir(t, h.path("src")), "-pbd", h.path("src"), "-p", h.path("src"))
		made := func() int { return files.arrived(t, h.path("made")) }
		last := killAlong(t, kills, len(files), made, start)
		waitFor(t, "all announced", func() bool { return announced.len() == len(files) },
			func() string { return fmt.Sprintf("%d of %d", announced.len(), len(files)) }, last.text)
		if n := made(); n != len(files) {
			t.Errorf("%d of %d files made", n, len(files))
		}
		deaths := strings.Count(last.text(), "stage ended")
		last.stop()
		files.onlyIn(t, h.path("made"))
		t.Logf("%d kills, %d files, announced %d times; the last filter died %d times", kills, len(files), len(announced.all()), deaths)
	})
}
