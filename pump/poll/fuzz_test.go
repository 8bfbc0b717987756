package poll

import (
	"net/url"
	"path"
	"strings"
	"testing"
)

// sound fails for an entry no caller should ever see.
func sound(t *testing.T, e Entry) {
	if e.Name == "" || e.Name == ".." || path.Join("/d", e.Name) != "/d/"+e.Name || strings.ContainsAny(e.Name, "/\x00\n\r\x1b") {
		t.Errorf("name %q", e.Name)
	}
	if e.Size < -1 || e.Mode&^0o777 != 0 || e.Precision < 0 || !e.ModTime.IsZero() && e.Precision == 0 {
		t.Errorf("entry %+v", e)
	}
	if !e.Same(e) || !e.Finer(e).Same(e) {
		t.Errorf("not the same as itself: %+v", e)
	}
}

func fuzzLines(f *testing.F, seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := Lines(strings.NewReader(string(data)), options(), func(e Entry) error { sound(t, e); return nil }); err != nil {
			t.Error(err)
		}
	})
}

func FuzzUnix(f *testing.F) {
	fuzzLines(f, "-rw-r--r-- 1 a u 7 Nov 21 10:00 x\n", "drwxr-xr-x 2 a u 7 Nov 21  2020 x y\nlrwxrwxrwx 1 a u 7 2026-11-21 10:00 a -> b")
}

func FuzzDOS(f *testing.F) {
	fuzzLines(f, "11-21-26  10:00AM <DIR> x\n", "11-21-2026  01:05PM 1234 a b.txt\r\n")
}

func FuzzMLSD(f *testing.F) {
	fuzzLines(f, "type=file;size=1;modify=20261121100000.5;perm=r;UNIX.mode=0644; x\n", "type=OS.unix=slink:/x; y")
}

func FuzzPage(f *testing.F) {
	for _, s := range []string{apachePre, apacheTable, nginxPage, servePage, plainPage, lighttpdPage} {
		f.Add([]byte(s))
	}
	dir := &url.URL{Scheme: "http", Host: "h.example", Path: "/pub/a b/"}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := Page(strings.NewReader(string(data)), dir, options(), func(e Entry) error { sound(t, e); return nil })
		if err != nil && len(data) < maxTag {
			t.Error(err)
		}
	})
}
