package fetch

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"srpump/pump/transfer"
)

// Left-overs are swept by age, with their word; not while somebody fetches, nor what another put in their place,
// nor anything else.
func TestSweep(t *testing.T) {
	r := newResuming(t, &cutting{etag: `"one"`, data: noise(1), cuts: []int64{resumeSize / 2, resumeSize / 2, 1}})
	r.cut()
	_, name := Inflight{}.Name("x", "test")
	temp := filepath.Join(r.tree.Dir(), "sub", name)
	must(t, os.WriteFile(filepath.Join(r.tree.Dir(), "sub", ".other.12345678.tmp"), nil, 0o600))
	sweep := func(before time.Time, want ...string) {
		t.Helper()
		swept, err := r.job.Partials.Sweep(before)
		if err != nil || len(swept) != len(want) || len(want) > 0 && swept[0] != want[0] {
			t.Errorf("swept %q, %v; want %q", swept, err, want)
		}
	}
	sweep(time.Now().Add(-time.Hour))
	later := time.Now().Add(time.Hour)
	f, err := os.Open(temp)
	must(t, err)
	must(t, unix.Flock(int(f.Fd()), unix.LOCK_EX))
	sweep(later)
	f.Close()
	sweep(later, temp)
	only(t, r.tree, "sub/.other.12345678.tmp")
	if left, _ := os.ReadDir(r.job.Partials.Dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	r.cut()
	must(t, os.Rename(temp, temp+"x"))
	must(t, os.WriteFile(temp, []byte("precious"), 0o600))
	must(t, os.Remove(temp+"x"))
	sweep(later)
	holds(t, r.tree, filepath.Join("sub", name), []byte("precious"))
	must(t, os.Remove(temp))
	r.cut()
	sweep(later, temp)
	s, err := r.tree.stage("sub/y", Inflight{}, "test", 0o600, true)
	must(t, err)
	r.job.Path = "sub/y"
	r.job.newMarks(s, resumeSize, transfer.Validator{}, "").begin()
	temp = s.TempPath()
	s.f.Close() // as a kill does, before any bytes are durable
	sweep(later, temp)
	sweep(later)
}
