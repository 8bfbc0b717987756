package test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"srpump/pump/broker"
)

// tree lists the files and links below a directory with their contents, one a line; temporary
// names of flows are left out.
func tree(t testing.TB, dir string) string {
	t.Helper()
	var lines []string
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(p, ".tmp") {
			return nil // it changes while we look
		}
		rel, _ := filepath.Rel(dir, p)
		if to, err := os.Readlink(p); err == nil {
			lines = append(lines, rel+" -> "+to)
		} else if b, err := os.ReadFile(p); err == nil {
			lines = append(lines, fmt.Sprintf("%s %q", rel, b))
		}
		return nil
	})
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

// churn does one thing at random to a small tree, as impatient programs do.
func churn(r *rand.Rand, dir string, n int) string {
	d := filepath.Join(dir, fmt.Sprintf("d%d", r.IntN(4)))
	f := filepath.Join(d, fmt.Sprintf("f%d", r.IntN(6)))
	switch k := r.IntN(100); {
	case k < 45:
		_ = os.MkdirAll(d, 0o755)
		_ = os.WriteFile(f, fmt.Appendf(nil, "content %d", r.IntN(n)), 0o644)
		return "write " + f
	case k < 60:
		_ = os.Remove(f)
		return "remove " + f
	case k < 70:
		_ = os.MkdirAll(d, 0o755)
		_ = os.Remove(f)
		_ = os.Symlink(fmt.Sprintf("f%d", r.IntN(6)), f)
		return "link " + f
	case k < 80:
		to := filepath.Join(dir, fmt.Sprintf("d%d", r.IntN(4)), fmt.Sprintf("f%d", r.IntN(6)))
		_ = os.Rename(f, to)
		return "rename " + f + " " + to
	case k < 88:
		to := filepath.Join(dir, fmt.Sprintf("d%d", r.IntN(4)))
		_ = os.Rename(d, to)
		return "rename " + d + " " + to
	case k < 92:
		_ = os.RemoveAll(d)
		return "remove all " + d
	default: // as an editor saves
		_ = os.MkdirAll(d, 0o755)
		_ = os.WriteFile(f+"~", fmt.Appendf(nil, "saved %d", r.IntN(n)), 0o644)
		_ = os.Rename(f+"~", f)
		return "save " + f
	}
}

// Whatever is done to a watched tree, in whatever hurry: in the end the copy two hops away is
// equal (A, B, A; announced, removed, announced again; directories renamed and removed).
func TestChurn(t *testing.T) {
	onBothBrokers(t, func(t *testing.T, url string) {
		for round := range scale(2, 20) {
			seed := rand.Uint64()
			r := rand.New(rand.NewPCG(seed, 0))
			h := newHost(t)
			must(t, os.MkdirAll(h.path("src"), 0o755))
			must(t, os.MkdirAll(h.path("copy"), 0o755))
			in, out := fresh("xs_guest"), fresh("xs_guest")
			conn := connect(t, url)
			for _, x := range []string{in, out} {
				must(t, conn.DeclareExchange(t.Context(), broker.Exchange{Name: x}))
			}
			subscriber := h.start("sr_subscribe", "-b", url, "-exchange", out, "-queue_name", fresh("q_guest"), "-mirror", "-directory", h.path("dst"))
			sarra := h.start("sr_sarra", "-b", url, "-exchange", in, "-pb", url, "-px", out, "-queue_name", fresh("q_guest"), "-sd", "1h",
				"-directory", h.path("copy"), "-pbd", h.path("copy"), "-pbu", serveDir(t, h.path("copy")))
			subscriber.await("consuming")
			sarra.await("consuming")
			watch := h.start("sr_watch", "-pb", url, "-px", in, "-pbd", h.path("src"), "-pbu", serveDir(t, h.path("src")), "-p", h.path("src"))
			watch.await("watching")
			var ops []string
			for range scale(300, 1000) {
				ops = append(ops, churn(r, h.path("src"), 5))
			}
			want := tree(t, h.path("src"))
			waitFor(t, fmt.Sprintf("equal trees (round %d, seed %d)", round, seed), func() bool {
				return tree(t, h.path("copy")) == want && tree(t, h.path("dst")) == want
			}, func() string {
				return "want:\n" + want + "\ncopy:\n" + tree(t, h.path("copy")) + "\ndst:\n" + tree(t, h.path("dst"))
			}, func() string { return strings.Join(ops, "\n") }, watch.text, sarra.text, subscriber.text)
			watch.stop()
			sarra.stop(1)
			subscriber.stop(1)
		}
	})
}
