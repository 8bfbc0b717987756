package transfertest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"srpump/pump/transfer"
)

// many is how many names the large directory has.
const many = 2000

// RunList checks what one scheme sees: the Getter of the harness is a transfer.Lister too.
func RunList(t *testing.T, h Harness) {
	h.run(t, []check{
		{"list names", listNames}, {"list many", listMany}, {"list kinds", listKinds}, {"list empty", listEmpty},
		{"list missing", listMissing}, {"list a file", listFile}, {"yield ends it", listStops},
		{"stat", statFile}, {"stat missing", statMissing}, {"list together", listTogether},
		{"list cancelled", listCancelled}, {"list reset", listReset}, {"list stalled", listStalled},
	})
}

// oddNames are names that quoting, listing or splitting may get wrong.
func (b *bench) oddNames() (names []string) {
	for _, name := range []string{
		"plain", "with blank", " before", "after ", "a#b", "a%20b", "a%b", "a?b=c", "a+b", "été-ß-雪", "new\nline", "tab\there",
		"-dash", ".dot", "semi;colon", "q\"uote'", "co:lon", "back\\slash", "a&b", "[x]*", "a -> b", "~",
	} {
		if b.Cannot == nil || !b.Cannot(name) {
			names = append(names, name)
		}
	}
	return names
}

func (b *bench) lister() transfer.Lister { return b.get.(transfer.Lister) }

// dir makes a directory below that which is served, with files in it that hold their own name.
func (b *bench) dir(t *testing.T, dir string, names ...string) (url string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Join(b.Dir, dir), 0o755))
	for _, name := range names {
		must(t, os.WriteFile(filepath.Join(b.Dir, dir, name), []byte(name), 0o644))
	}
	return b.URL(b.Addr, dir)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (b *bench) list(t *testing.T, url string) (map[string]transfer.Entry, error) {
	t.Helper()
	got := make(map[string]transfer.Entry)
	err := b.lister().List(t.Context(), url, func(e transfer.Entry) error {
		if _, twice := got[e.Name]; twice {
			t.Errorf("%q is listed twice", e.Name)
		}
		got[e.Name] = e
		return nil
	})
	if err != nil {
		checkOp(t, err, "list")
	}
	return got, err
}

func listNames(t *testing.T, b *bench) {
	names := b.oddNames()
	got, err := b.list(t, b.dir(t, "names", names...))
	must(t, err)
	for _, name := range names {
		e, ok := got[name]
		if !ok {
			t.Errorf("%q is not listed", name)
			continue
		}
		checkEntry(t, e, filepath.Join(b.Dir, "names", name))
		delete(got, name)
	}
	for name := range got {
		t.Errorf("%q is listed, which is not there", name)
	}
}

// checkEntry compares what was said of a name with what this host says of it.
func checkEntry(t *testing.T, e transfer.Entry, path string) {
	t.Helper()
	fi, err := os.Lstat(path)
	must(t, err)
	if e.Mode.Type() != fi.Mode().Type() {
		t.Errorf("%q is a %v, want %v", e.Name, e.Mode, fi.Mode())
	}
	if e.Rough || !fi.Mode().IsRegular() {
		return
	}
	if e.Size >= 0 && e.Size != fi.Size() {
		t.Errorf("%q has %d bytes, want %d", e.Name, e.Size, fi.Size())
	}
	if d := fi.ModTime().Sub(e.ModTime); !e.ModTime.IsZero() && (d < 0 || d >= time.Second) {
		t.Errorf("%q is of %v, want %v", e.Name, e.ModTime, fi.ModTime())
	}
}

func listMany(t *testing.T, b *bench) {
	got, err := b.list(t, b.large(t))
	if err != nil || len(got) != many {
		t.Errorf("%d names of %d, %v", len(got), many, err)
	}
}

// large makes the large directory.
func (b *bench) large(t *testing.T) (url string) {
	t.Helper()
	names := make([]string, many)
	for i := range names {
		names[i] = fmt.Sprintf("file-%04d", i)
	}
	return b.dir(t, "many", names...)
}

func listKinds(t *testing.T, b *bench) {
	url := b.dir(t, "kinds", "file")
	in := func(name string) string { return filepath.Join(b.Dir, "kinds", name) }
	must(t, os.Mkdir(in("directory"), 0o755))
	must(t, os.Symlink("file", in("link")))
	must(t, os.Symlink("nothing", in("dangling")))
	got, err := b.list(t, url)
	must(t, err)
	for _, name := range []string{"file", "directory", "link", "dangling"} {
		if e, ok := got[name]; !ok {
			t.Errorf("%q is not listed", name)
		} else {
			checkEntry(t, e, in(name))
		}
	}
	for _, hidden := range []string{".", "..", ""} {
		if _, ok := got[hidden]; ok {
			t.Errorf("%q is listed", hidden)
		}
	}
}

func listEmpty(t *testing.T, b *bench) {
	if got, err := b.list(t, b.dir(t, "empty directory")); err != nil || len(got) != 0 {
		t.Errorf("%d names, %v", len(got), err)
	}
}

func listMissing(t *testing.T, b *bench) {
	_, err := b.list(t, b.URL(b.Addr, "no such directory"))
	want(t, err, transfer.NotFound)
}

func listFile(t *testing.T, b *bench) {
	if got, err := b.list(t, b.put(t, "a file", nil)); err == nil {
		t.Errorf("a file was listed: %v", got)
	}
}

func listStops(t *testing.T, b *bench) {
	enough := errors.New("enough")
	n := 0
	err := b.lister().List(t.Context(), b.large(t), func(transfer.Entry) error {
		n++
		return enough
	})
	if err != enough || n != 1 {
		t.Errorf("got %v after %d names", err, n)
	}
}

func statFile(t *testing.T, b *bench) {
	b.dir(t, "stat", "file")
	in := func(name string) string { return filepath.Join(b.Dir, "stat", name) }
	must(t, os.Symlink("file", in("link")))
	must(t, os.Symlink("nothing", in("dangling")))
	names := []string{"file", "link", "dangling"}
	for _, name := range b.oddNames() {
		must(t, os.WriteFile(in(name), []byte(name), 0o644))
		names = append(names, name)
	}
	must(t, os.Mkdir(in("directory"), 0o755))
	for _, name := range append(names, "directory") {
		e, err := b.lister().Stat(t.Context(), b.URL(b.Addr, "stat/"+name))
		if err != nil || e.Name != name {
			t.Errorf("%q: %+v, %v", name, e, err)
			continue
		}
		if e.Mode&fs.ModeSymlink != 0 && e.Target != "" && e.Target != "file" && e.Target != "nothing" {
			t.Errorf("%q points to %q", name, e.Target)
		}
		checkEntry(t, e, in(name))
	}
}

func statMissing(t *testing.T, b *bench) {
	for _, name := range []string{"no such file", "no such directory/file"} {
		_, err := b.lister().Stat(t.Context(), b.URL(b.Addr, name))
		fails(t, err, "stat", transfer.NotFound)
	}
}

func listTogether(t *testing.T, b *bench) {
	url := b.large(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got, err := b.list(t, url); err != nil || len(got) != many {
				t.Errorf("%d names, %v", len(got), err)
			}
			if _, err := b.lister().Stat(t.Context(), url); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func listCancelled(t *testing.T, b *bench) {
	url := b.large(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := b.lister().List(ctx, url, func(transfer.Entry) error { return nil })
	fails(t, err, "list", transfer.Cancelled)
	_, err = b.lister().Stat(ctx, url)
	fails(t, err, "stat", transfer.Cancelled)
}

// listReset cuts the connection at every tenth of a listing, which then fails or is whole.
func listReset(t *testing.T, b *bench) {
	if b.Addr == "" {
		t.Skip("no connection to cut")
	}
	b.large(t)
	addr, down, _ := b.relayCount(t)
	_, err := b.list(t, b.URL(addr, "many"))
	must(t, err)
	for tenth := range int64(10) {
		addr := b.relay(t, down.Load()*tenth/10, (*link).cut)
		if got, err := b.list(t, b.URL(addr, "many")); err != nil || len(got) != many {
			want(t, err, transfer.Temporary)
		}
	}
}

func listStalled(t *testing.T, b *bench) {
	if b.Addr == "" {
		t.Skip("no connection to stall")
	}
	b.hasten()
	b.large(t)
	for _, after := range []int64{0, 5000} {
		_, err := b.list(t, b.URL(b.relay(t, after, (*link).stall), "many"))
		want(t, err, transfer.Temporary)
	}
}

// hasten replaces the Getter by one with a short time-out.
func (b *bench) hasten() {
	b.get.Close()
	b.get = b.New(200 * time.Millisecond)
}
