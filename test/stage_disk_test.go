package test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// A filter that writes a copy of each file below $1, says when it cannot, and holds what is in files named held.
const modestFilter = `#!/bin/sh
printf '{"version":1,"window":100}\n'
while IFS= read -r line; do
	id=${line#*'"id":'} path=${line#*'"path":"'} rel=${line#*'"relpath":"'}
	id=${id%%,*} path=${path%%'"'*} rel=${rel%%'"'*}
	case $rel in held*) holds="$holds $id"; continue;; esac
	if cp "$path" "$1/$rel.new" && mv "$1/$rel.new" "$1/$rel"; then
		printf '{"out":"%s","for":%s}\n{"ok":%s}\n' "$rel" "$id" "$id"
	else
		rm -f "$1/$rel.new"
		printf '{"retry":%s,"why":"no room"}\n' "$id"
	fi
done
for id in $holds; do printf '{"ok":%s}\n' "$id"; done
`

// staged is a receiver whose filter makes copies below made.
func newStaged(t *testing.T, h *host, args ...string) *receiver {
	t.Helper()
	must(t, os.WriteFile(h.path("filter"), []byte(modestFilter), 0o755))
	must(t, os.MkdirAll(h.path("made"), 0o755))
	url := "sqlite://" + h.path("pump.db")
	return newReceiver(t, h, url, append([]string{"-pb", url, "-post_exchange", "xmade", "-pbd", h.path("made"), "-pbu", "http://made/",
		"-stage", h.path("filter") + " " + h.path("made")}, args...)...)
}

// smallDisk mounts one.
func smallDisk(t *testing.T, path, size string) {
	t.Helper()
	must(t, os.MkdirAll(path, 0o755))
	err := syscall.Mount("tmpfs", path, "tmpfs", 0, "size="+size)
	if errors.Is(err, syscall.EPERM) {
		t.Skip("no right to mount a small disk")
	}
	must(t, err)
	t.Cleanup(func() { _ = syscall.Unmount(path, syscall.MNT_DETACH) })
}

// No room for what the filter makes: its input waits on disk, and is given again once there is.
func TestStageDiskFull(t *testing.T) {
	h := newHost(t)
	smallDisk(t, h.path("made"), "1m")
	h.write("src/one", strings.Repeat("one\n", 50_000))
	base := serveDir(t, h.path("src"))
	r := newStaged(t, h)
	must(t, fill(h.path("made/ballast")))
	r.send(t, "20261121000000.5 "+base+"/ one \n", map[string]any{"sum": "z,d"})
	r.await(`retry path=\S*/dst/one .*no room`)
	must(t, os.Remove(h.path("made/ballast")))
	r.await(`made path=\S*/made/one`)
	r.stop()
}

// No room for what the filter holds more than the broker gives out: nothing is acknowledged that is kept nowhere,
// and it goes on once there is.
func TestStageStateDiskFull(t *testing.T) {
	h := newHost(t)
	smallDisk(t, h.path("state"), "128k")
	base := serveDir(t, h.path("src"))
	r := newStaged(t, h, "-state_dir", h.path("state"), "-prefetch", "4")
	headers := map[string]any{"sum": "z,d"}
	for i := range 20 { // what is kept of each is more than a page, for files have part of one free
		headers[fmt.Sprint("x_pad", i)] = strings.Repeat("x", 250)
	}
	for i := range 12 {
		h.write(fmt.Sprintf("src/held%d", i), "content")
		if i == 3 {
			must(t, fill(h.path("state/ballast")))
		}
		r.send(t, fmt.Sprintf("20261121000000.5 %s/ held%d \n", base, i), headers)
		if i < 3 {
			r.await(fmt.Sprintf(`fetched path=\S*/dst/held%d`, i))
		}
	}
	r.await("not moved to disk")
	if strings.Contains(r.text(), "dst/held11") {
		t.Error("more is taken in than the broker gives out")
	}
	must(t, os.Remove(h.path("state/ballast")))
	r.await(`fetched path=\S*/dst/held11`)
	r.stop()
}
