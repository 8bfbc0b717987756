package keep

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func openKeeper(t *testing.T, dir string) *Keeper {
	t.Helper()
	k, err := Open(dir, 48*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Close() })
	return k
}

func note(t *testing.T, k *Keeper, name string, at time.Time) {
	t.Helper()
	if err := k.Note(Entry{Root: "/data", Path: name, Size: 5, Mtime: noon.Add(7), Installed: at}); err != nil {
		t.Fatal(err)
	}
}

func due(t *testing.T, k *Keeper, now time.Time) string {
	t.Helper()
	var names []string
	if err := k.Due(context.Background(), now, func() {}, func(e Entry) { names = append(names, e.Path) }); err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, " ")
}

// Any entry is read as it was written, and none of its beginnings is read as one.
func TestLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := Entry{Root: rapid.String().Draw(t, "root"), Path: string(rapid.SliceOf(rapid.Byte()).Draw(t, "path")),
			Size: rapid.Int64().Draw(t, "size"), Again: rapid.Bool().Draw(t, "again"),
			Mtime: time.Unix(0, rapid.Int64().Draw(t, "mtime")), Installed: time.Unix(rapid.Int64Range(0, 1<<40).Draw(t, "at"), 0)}
		line := strings.TrimSuffix(e.line(), "\n")
		if got, err := parse(line); err != nil || got != e || strings.Contains(line, "\n") {
			t.Fatalf("%q is read as %v %v", line, got, err)
		}
		cut := line[:rapid.IntRange(0, len(line)-1).Draw(t, "cut")]
		if got, err := parse(cut); err == nil {
			t.Fatalf("%q is read as %v", cut, got)
		}
	})
}

// Each entry is handed out once, when its age has come, the oldest first, also over a restart;
// a day that is worked off is gone.
func TestDue(t *testing.T) {
	dir := t.TempDir()
	k := openKeeper(t, dir)
	note(t, k, "a", noon)
	note(t, k, "b", noon.Add(time.Hour))
	note(t, k, "c", noon.Add(24*time.Hour))
	for _, c := range []struct {
		after time.Duration
		want  string
	}{{48*time.Hour - time.Second, ""}, {48 * time.Hour, "a"}, {48 * time.Hour, ""}, {49 * time.Hour, "b"}, {72 * time.Hour, "c"}, {1000 * time.Hour, ""}} {
		if got := due(t, k, noon.Add(c.after)); got != c.want {
			t.Errorf("after %v: %q, want %q", c.after, got, c.want)
		}
		k.Close()
		k = openKeeper(t, dir)
	}
	if days, err := k.days(); len(days) != 0 {
		t.Errorf("left: %q %v", days, err)
	}
	note(t, k, "d", noon) // a day that was worked off may come back with the clock
	k.Close()
	if got := due(t, openKeeper(t, dir), noon.Add(48*time.Hour)); got != "d" {
		t.Errorf("%q of a day come back", got)
	}
}

// A line cut short loses itself and nothing else; an entry noted while others are handed out
// has its own time.
func TestTorn(t *testing.T) {
	dir := t.TempDir()
	k := openKeeper(t, dir)
	note(t, k, "a", noon)
	k.Close()
	part := filepath.Join(dir, "20261121")
	b, err := os.ReadFile(part)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(part, append(b, b[:len(b)-3]...), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := due(t, openKeeper(t, dir), noon); got != "" {
		t.Errorf("%q before its time", got)
	}
	note(t, k, "b", noon)
	var names []string
	err = k.Due(context.Background(), noon.Add(72*time.Hour), func() {}, func(e Entry) {
		names = append(names, e.Path)
		e.Installed, e.Again = noon.Add(72*time.Hour), true
		if !strings.HasPrefix(e.Path, "again") {
			e.Path = "again-" + e.Path
			if err := k.Note(e); err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil || strings.Join(names, " ") != "a b" {
		t.Errorf("%q %v", names, err)
	}
	if got := due(t, k, noon.Add(120*time.Hour)); got != "again-a again-b" {
		t.Errorf("then %q", got)
	}
}

// A context that ends stops between steps, and what was handed out is not handed out again.
func TestDueStops(t *testing.T) {
	dir := t.TempDir()
	k := openKeeper(t, dir)
	for i := range 2*step + 10 {
		note(t, k, fmt.Sprint(i), noon)
	}
	ctx, cancel := context.WithCancel(context.Background())
	seen := map[string]int{}
	count := func(e Entry) { seen[e.Path]++ }
	if err := k.Due(ctx, noon.Add(50*time.Hour), cancel, count); err != nil || len(seen) != step {
		t.Errorf("%d handed out, %v", len(seen), err)
	}
	k.Close()
	if err := openKeeper(t, dir).Due(context.Background(), noon.Add(50*time.Hour), func() {}, count); err != nil || len(seen) != 2*step+10 {
		t.Errorf("%d handed out, %v", len(seen), err)
	}
	for name, n := range seen {
		if n != 1 {
			t.Errorf("%s handed out %d times", name, n)
		}
	}
}

// A leap of the clock is believed after a day of running, over restarts; one taken back, never.
func TestClock(t *testing.T) {
	dir := t.TempDir()
	c := OpenClock(dir)
	tick := func(wall time.Time, passed time.Duration, want time.Time, wantLeapt bool) {
		t.Helper()
		got, leapt := c.Now(wall, passed)
		if !got.Equal(want) || leapt != wantLeapt {
			t.Errorf("believed %v, leapt %v; want %v, %v", got, leapt, want, wantLeapt)
		}
		if err := c.Keep(); err != nil {
			t.Fatal(err)
		}
		c = OpenClock(dir)
	}
	year := noon.AddDate(1, 0, 0)
	tick(noon, 0, noon, false)
	tick(noon.Add(5*time.Minute), 5*time.Minute, noon.Add(5*time.Minute), false)
	tick(noon.Add(30*time.Minute), 0, noon.Add(30*time.Minute), false) // a short stop
	tick(year, 5*time.Minute, noon.Add(35*time.Minute), true)
	tick(year.Add(5*time.Minute), 5*time.Minute, noon.Add(40*time.Minute), false)
	tick(noon.Add(45*time.Minute), 5*time.Minute, noon.Add(45*time.Minute), false) // put right
	tick(noon.Add(-time.Hour), 5*time.Minute, noon.Add(-time.Hour), false)         // set back
	tick(year, 0, noon.Add(-time.Hour), true)
	tick(year.Add(12*time.Hour), 12*time.Hour, noon.Add(11*time.Hour), false)
	tick(year.Add(24*time.Hour), 12*time.Hour, year.Add(24*time.Hour), false)
	tick(year.Add(25*time.Hour), time.Hour, year.Add(25*time.Hour), false)
	if err := os.WriteFile(filepath.Join(dir, "clock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(dir, "clock"), noon, noon); err != nil {
		t.Fatal(err)
	}
	c = OpenClock(dir) // emptied by a power cut
	tick(year, 0, noon, true)
}
