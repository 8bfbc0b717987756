package main

import (
	"context"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"srpump/test/rabbit"
)

func TestMain(m *testing.M) { os.Exit(rabbit.Main(m)) }

// Every row is described where the figures are kept, and no other.
func TestReadmeNamesRows(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var described []string
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "### "); ok {
			described = append(described, strings.TrimSpace(name))
		}
	}
	var names []string
	for _, r := range rows() {
		names = append(names, r.name)
	}
	if got, want := strings.Join(described, " "), strings.Join(names, " "); got != want {
		t.Errorf("README describes %s, the rows are %s", got, want)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := median(c.values); got != c.want {
			t.Errorf("median of %v is %v, not %v", c.values, got, c.want)
		}
	}
	if !math.IsNaN(median(nil)) {
		t.Error("nothing has a median")
	}
}

func TestReached(t *testing.T) {
	ours, anchor := []float64{8, 10, 90}, []float64{20, 10, 10}
	for _, c := range []struct {
		goal goal
		want string
	}{
		{goal{least: 10}, "yes"},
		{goal{least: 11}, "no"},
		{goal{most: 9}, "no"},
		{goal{most: 10}, "yes"},
		{goal{ratio: true, least: 1}, "yes"},
		{goal{ratio: true, least: 1.01}, "no"},
		{goal{}, ""},
	} {
		if got := (finding{ours: ours, anchor: anchor, goal: c.goal}).reached(); got != c.want {
			t.Errorf("%v: reached is %q, not %q", c.goal, got, c.want)
		}
	}
	if got := (finding{ours: ours, anchor: anchor}).pairwise(); got != 1 {
		t.Errorf("median of the ratios 0.4, 1 and 9 is %v", got)
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0.7: "0.7", 12.345: "12.3", 123.4: "123", 1234: "1,234", 1234567: "1,234,567", -1234: "-1,234"} {
		if got := number(v); got != want {
			t.Errorf("%v is printed as %q, not %q", v, got, want)
		}
	}
}

// Contenders take turns, and the first round does not count.
func TestPlay(t *testing.T) {
	var order strings.Builder
	entry := func(name string) contender {
		return contender{name, func(context.Context) (sample, error) {
			order.WriteString(name)
			return sample{"at": float64(order.Len())}, nil
		}}
	}
	got, err := play(t.Context(), 2, entry("a"), entry("b"))
	if err != nil {
		t.Fatal(err)
	}
	if order.String() != "ababab" || len(got["a"]) != 2 || got["b"].of("at")[0] != 4 {
		t.Errorf("order %s, samples %v", order.String(), got)
	}
}

// Each fingerprint comes from every source, and the last one may lack a copy.
func TestInterleaved(t *testing.T) {
	all, keys := interleaved(500)
	prints := make(map[string]int)
	for _, p := range all {
		prints[p.Headers["sum"].(string)]++
	}
	if len(all) != 500 || len(keys) != 500 || len(prints) != 167 {
		t.Errorf("%d announcements, %d keys, %d fingerprints", len(all), len(keys), len(prints))
	}
	for sum, n := range prints {
		if n > copies {
			t.Errorf("%s comes %d times", sum, n)
		}
	}
}

func TestSame(t *testing.T) {
	b := &bed{}
	root := t.TempDir()
	src, err := b.tree(root, 3, 10)
	if err != nil {
		t.Fatal(err)
	}
	dst := filepath.Join(root, "copy")
	if err := os.CopyFS(dst, os.DirFS(src)); err != nil {
		t.Fatal(err)
	}
	if err := same(src, dst); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dst, "f000001"), []byte("other byte"), 0o600); err != nil {
		t.Fatal(err)
	}
	if same(src, dst) == nil {
		t.Error("other bytes pass as the same")
	}
	if err := os.Remove(filepath.Join(dst, "f000001")); err != nil {
		t.Fatal(err)
	}
	if same(src, dst) == nil {
		t.Error("a missing file passes")
	}
}

// The gauge sees what a passive declaration does not: what is handed out and
// not acknowledged.
func TestGauge(t *testing.T) {
	n := rabbit.Start(t)
	g, err := openGauge(n)
	if err != nil {
		t.Fatal(err)
	}
	defer g.close()
	p, err := openTap(n.AdminURL())
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	check := func(queue string, want level) {
		t.Helper()
		if got, err := g.level(queue); err != nil || got != want {
			t.Errorf("%s stands at %+v, not %+v: %v", queue, got, want, err)
		}
	}
	check("q_gauge", level{-1, -1, -1})
	if err := p.bound("xs_gauge", "q_gauge"); err != nil {
		t.Fatal(err)
	}
	defer p.ch.QueueDelete("q_gauge", false, false, false)
	if err := p.send("xs_gauge", []amqp.Publishing{{}, {}, {}}, []string{"a", "b", "c"}); err != nil {
		t.Fatal(err)
	}
	check("q_gauge", level{3, 0, 0})
	d, ok, err := p.ch.Get("q_gauge", false)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	check("q_gauge", level{2, 1, 0})
	if err := d.Ack(false); err != nil {
		t.Fatal(err)
	}
	if err := p.purge("q_gauge"); err != nil { // a call that is answered after the ack was
		t.Fatal(err)
	}
	check("q_gauge", level{0, 0, 0})
}

// Every row can be measured: the options, queues and programs it uses are there.
func TestRows(t *testing.T) {
	for _, program := range []string{"nginx", "curl", "md5sum", "sync"} {
		if _, err := exec.LookPath(program); err != nil && os.Getenv("SRPUMP_REQUIRE") != "1" {
			t.Skip(err)
		}
	}
	rabbit.Start(t) // skips where there is none
	t.Chdir("../..")
	disk := t.TempDir()
	b, err := newBed(t.Context(), options{rounds: 1, scale: 0.002, disk: disk, fast: disk})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows() {
		found, err := r.run(t.Context(), b)
		if err != nil {
			t.Errorf("%s: %v", r.name, err)
		}
		for _, f := range found {
			if v := median(f.ours); !(v >= 0) && !strings.Contains(f.what, "not possible here") {
				t.Errorf("%s: %s is %v", r.name, f.what, v)
			}
		}
	}
	if err := b.close(); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(disk)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
