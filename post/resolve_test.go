package post

import (
	"errors"
	"testing"
)

// sr_post(7), THE FIRST LINE and rename: every case of URL and destination.
func TestRetrieval(t *testing.T) {
	for _, c := range []struct {
		base, rel, rename string
		mode              BaseMode
		want              Retrieval
	}{
		{base: "http://h.example/", rel: "/sub/foo.txt", want: Retrieval{URL: "http://h.example/sub/foo.txt", Path: "sub/foo.txt"}},
		{base: "http://h.example/", rel: "sub/foo.txt", want: Retrieval{URL: "http://h.example/sub/foo.txt", Path: "sub/foo.txt"}},
		{base: "http://h.example/d/", rel: "a b#c?.txt", want: Retrieval{URL: "http://h.example/d/a%20b%23c%3F.txt", Path: "a b#c?.txt"}},
		{base: "http://h.example/", rel: "100%.txt", want: Retrieval{URL: "http://h.example/100%25.txt", Path: "100%.txt"}},
		{base: "http://h.example/", rel: "a:b", want: Retrieval{URL: "http://h.example/a:b", Path: "a:b"}},
		{base: "http://h.example", rel: "sub/x", want: Retrieval{URL: "http://h.example/sub/x", Path: "sub/x"}},
		{base: "sftp://u@h/", rel: "/data/x", want: Retrieval{URL: "sftp://u@h//data/x", Path: "data/x"}},
		{base: "ftp://u@h//", rel: "data/x", want: Retrieval{URL: "ftp://u@h//data/x", Path: "data/x"}},
		{base: "ftp://u@h/in/", rel: "/x", want: Retrieval{URL: "ftp://u@h/in/x", Path: "x"}},
		{base: "http://h//", rel: "/x", want: Retrieval{URL: "http://h/x", Path: "x"}},
		{base: "sftp://u@h:22", rel: "sub/x", want: Retrieval{URL: "sftp://u@h:22/sub/x", Path: "sub/x"}},
		{base: "http://h/data/x.gif", rel: "NRPDS/GIF/", want: Retrieval{URL: "http://h/data/x.gif", Path: "NRPDS/GIF/x.gif"}},
		{base: "sftp://afsiext@cmcdataserver/data/NRPDS/outputs/NRDPS_HiRes_000.gif", rel: "NRPDS/GIF/", want: Retrieval{URL: "sftp://afsiext@cmcdataserver/data/NRPDS/outputs/NRDPS_HiRes_000.gif", Path: "NRPDS/GIF/NRDPS_HiRes_000.gif"}},
		{base: "http://h/data", rel: "/x/y.gif", want: Retrieval{URL: "http://h/data/x/y.gif", Path: "x/y.gif"}},
		{base: "http://h/data/y.gif", rel: "x/y.gif", want: Retrieval{URL: "http://h/data/y.gif", Path: "x/y.gif"}},
		{base: "http://h/data/y.gif", rel: "x/mine.gif", want: Retrieval{URL: "http://h/data/y.gif", Path: "x/mine.gif", Second: "http://h/data/y.gif/x/mine.gif", SecondPath: "x/mine.gif"}},
		{base: "http://h/data/y.gif", rel: "x/mine.gif", mode: BaseStatic, want: Retrieval{URL: "http://h/data/y.gif", Path: "x/mine.gif"}},
		{base: "http://h/data", rel: "x/mine.gif", mode: BasePrefix, want: Retrieval{URL: "http://h/data/x/mine.gif", Path: "x/mine.gif"}},
		{base: "http://h/", rel: "x/y.gif", rename: "NURP/GIF/", want: Retrieval{URL: "http://h/x/y.gif", Path: "NURP/GIF/y.gif"}},
		{base: "http://h/", rel: "x/y.gif", rename: "NRP/GIF/mine.gif", want: Retrieval{URL: "http://h/x/y.gif", Path: "NRP/GIF/mine.gif"}},
		{base: "http://h/a%20b.gif", rel: "d/", want: Retrieval{URL: "http://h/a%20b.gif", Path: "d/a b.gif"}},
		{base: "http://h/x%2Fy", rel: "d/", want: Retrieval{URL: "http://h/x%2Fy", Path: "d/x%2Fy"}},
		{base: "file:", rel: "/base/sub/foo.txt", want: Retrieval{Local: "/base/sub/foo.txt", Path: "base/sub/foo.txt"}},
		{base: "file:/base", rel: "sub/foo.txt", want: Retrieval{Local: "/base/sub/foo.txt", Path: "sub/foo.txt"}},
		{base: "http://h/", rel: "a/./b/../c", want: Retrieval{URL: "http://h/a/./b/../c", Path: "a/c"}},
	} {
		a := &Announcement{Base: c.base, Path: c.rel}
		a.SetHeader(HeaderRename, c.rename)
		got, err := a.Retrieval(c.mode)
		if err != nil || got != c.want {
			t.Errorf("%s %s rename %q:\n got %+v (%v)\nwant %+v", c.base, c.rel, c.rename, got, err, c.want)
		}
	}
}

func TestRetrievalRefuses(t *testing.T) {
	for _, c := range []struct{ base, rel, rename string }{
		{"http://h/", "../../etc/passwd", ""}, {"http://h/", "a/../../b", ""}, {"http://h/", "x", "../../etc/passwd"}, {"http://h/", "x", "/.."},
		{"http://h/", "..", ""}, {"http://h/", "/", ""}, {"http://h/", "x", "a\x00b"},
	} {
		a := &Announcement{Base: c.base, Path: c.rel}
		a.SetHeader(HeaderRename, c.rename)
		if got, err := a.Retrieval(BaseAuto); !errors.Is(err, ErrDestination) {
			t.Errorf("%v: %+v, %v", c, got, err)
		}
	}
	for _, base := range []string{"h", "://", "http://", "http:// /", "http://[::1"} {
		if got, err := (&Announcement{Base: base, Path: "x"}).Retrieval(BaseAuto); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %+v, %v", base, got, err)
		}
	}
}
