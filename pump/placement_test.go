package pump

import (
	"errors"
	"strings"
	"testing"
	"time"

	"srpump/post"
	"srpump/pump/config"
)

func testPlacement() *Placement {
	now := time.Date(2026, 11, 21, 4, 5, 6, 0, time.UTC)
	return &Placement{Cwd: "/cwd", PostDir: "/pub", BaseDir: "/base", Now: func() time.Time { return now }}
}

// sr_options(5), directory: every row of the table of placements.
func TestPlacement(t *testing.T) {
	const snow = "radar/PRECIP/GIF/WGJ/x_SNOW.gif"
	for _, c := range []struct {
		name       string
		rel        string
		capture    config.Capture
		rename     string
		fileOption string
		groups     []string
		want       string
	}{
		{name: "default", want: "/d/x_SNOW.gif"},
		{name: "mirror", capture: config.Capture{Mirror: true}, want: "/d/radar/PRECIP/GIF/WGJ/x_SNOW.gif"},
		{name: "strip 3", capture: config.Capture{Mirror: true, Strip: "3"}, want: "/d/WGJ/x_SNOW.gif"},
		{name: "strip too many", capture: config.Capture{Mirror: true, Strip: "9"}, want: "/d/x_SNOW.gif"},
		{name: "strip pattern", capture: config.Capture{Mirror: true, Strip: ".*?GIF/"}, want: "/d/WGJ/x_SNOW.gif"},
		{name: "strip everything", capture: config.Capture{Mirror: true, Strip: ".*"}, want: "/d/x_SNOW.gif"},
		{name: "flatten", capture: config.Capture{Flatten: "-"}, want: "/d/radar-PRECIP-GIF-WGJ-x_SNOW.gif"},
		{name: "mirror strip flatten", capture: config.Capture{Mirror: true, Strip: "1", Flatten: "-"}, want: "/d/PRECIP/GIF/WGJ/PRECIP-GIF-WGJ-x_SNOW.gif"},
		{name: "rename", capture: config.Capture{Mirror: true}, rename: "/x/y.gif", want: "/d/x/y.gif"},
		{name: "rename directory", capture: config.Capture{Mirror: true}, rename: "NURP/GIF/", want: "/d/NURP/GIF/x_SNOW.gif"},
		{name: "DESTFN", fileOption: "DESTFN=q.gif", want: "/d/q.gif"},
		{name: "leading slash", rel: "/" + snow, capture: config.Capture{Mirror: true, Strip: "1"}, want: "/d/PRECIP/GIF/WGJ/x_SNOW.gif"},
		{name: "captures", capture: config.Capture{Directory: "/d/${0}/x/${1}"}, groups: []string{"", "GIF", "WGJ"}, want: "/d/GIF/x/WGJ/x_SNOW.gif"},
		{name: "dates", capture: config.Capture{Directory: "${PBD}/${YYYYMMDD}/${SOURCE}/${JJJ}"}, want: "/pub/20261121/SRC/325/x_SNOW.gif"},
		{name: "yesterday", capture: config.Capture{Directory: "/d/${YYYYMMDD-1D}/${HH-2h}"}, want: "/d/20261120/02/x_SNOW.gif"},
		{name: "relative", capture: config.Capture{Directory: "rel/sub"}, want: "/cwd/rel/sub/x_SNOW.gif"},
		{name: "none", capture: config.Capture{Directory: "."}, want: "/cwd/x_SNOW.gif"},
		{name: "WHATFN:TIME", fileOption: "WHATFN:TIME", want: "/d/x_SNOW.gif:20261121000000"},
		{name: "unknown stays", capture: config.Capture{Directory: "/d/${HOME}/$(id)"}, want: "/d/${HOME}/$(id)/x_SNOW.gif"},
	} {
		if c.capture.Directory == "" {
			c.capture.Directory = "/d"
		}
		if c.rel == "" {
			c.rel = snow
		}
		stamp, err := post.ParseTimestamp("20261121000000.5")
		if err != nil {
			t.Fatal(err)
		}
		a := &post.Announcement{Base: "http://h/", Path: c.rel, Time: stamp, Headers: map[string]any{"source": "SRC"}}
		a.SetHeader(post.HeaderRename, c.rename)
		r, err := a.Retrieval(post.BaseAuto)
		if err != nil {
			t.Fatal(err)
		}
		got, err := testPlacement().Place(a, &Choice{Capture: c.capture, FileOption: c.fileOption, Groups: c.groups}, r.Path)
		if err != nil || got.Full() != c.want {
			t.Errorf("%s: %s (%v), want %s", c.name, got.Full(), err, c.want)
		}
	}
}

func TestPlacementRefuses(t *testing.T) {
	for _, c := range []struct {
		source, option string
		capture        config.Capture
		groups         []string
	}{
		{source: "../..", capture: config.Capture{Directory: "/d/${SOURCE}"}},
		{capture: config.Capture{Directory: "/d/${0}"}, groups: []string{"", "a/../../.."}},
		{capture: config.Capture{Directory: "/d"}, option: "DESTFN=../x"},
		{capture: config.Capture{Directory: "/d"}, option: "DESTFN=.."},
		{capture: config.Capture{Directory: "/d"}, option: "DESTFN="},
	} {
		a := &post.Announcement{Headers: map[string]any{"source": c.source}}
		got, err := testPlacement().Place(a, &Choice{Capture: c.capture, FileOption: c.option, Groups: c.groups}, "x/y")
		if !errors.Is(err, post.ErrDestination) {
			t.Errorf("%+v: %v, %v", c, got, err)
		}
	}
}

func TestFilenames(t *testing.T) {
	for _, c := range [][3]string{
		{"SACN:a:b:c:d:e:f", "WHATFN", "SACN"},
		{"A_B_C:x", "HEADFN", "A_B"},
		{"x:SENDER=mine:more", "SENDER", "mine"},
		{"a:b:c:d:e:20260101000000:SENDER=x", "NONE", "a:b:c:d:e:20260101000000"},
		{"a:b:c:d:ee:20260101000000", "NONESENDER", "a:b:c:d:ee"},
		{"x", "SATNET=1", "x:SATNET=1"},
		{"x:20250101000000", "WHATFN:TIME", "x:20250101000000"},
	} {
		got, err := testPlacement().name(&post.Announcement{}, &Choice{FileOption: c[1]}, c[0])
		if err != nil || got != c[2] {
			t.Errorf("%s with %s: %q (%v), want %q", c[0], c[1], got, err, c[2])
		}
	}
	if _, err := testPlacement().name(&post.Announcement{}, &Choice{FileOption: "DESTFNSCRIPT=x.py"}, "a"); err == nil {
		t.Error("an unknown keyword was accepted")
	}
}

func TestRules(t *testing.T) {
	capture := config.Capture{Directory: "/first"}
	rs, err := NewRules([]config.Rule{
		{Pattern: "http://h/secret.*"},
		{Accept: true, Pattern: "http://h/radar", Capture: capture, FileOption: "WHATFN", File: "x.conf", Line: 3},
		{Accept: true, Pattern: "radar.*"},
		{Accept: true, Pattern: `.*(\d)(?!x)\1end`},
	}, config.Capture{Directory: "/last"}, false)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{"radar/x": true, "secret/radar": false, "xradar": false, "a11end": true, "a12end": false} {
		c, err := rs.Choose(&post.Announcement{Base: "http://h/", Path: path})
		if err != nil || c.Accept != want {
			t.Errorf("%s: accepted %v", path, c.Accept)
		}
		if path == "radar/x" && (c.Capture != capture || c.FileOption != "WHATFN" || c.Line != "x.conf:3") {
			t.Errorf("%+v", c)
		}
		if path == "xradar" && c.Capture.Directory != "/last" {
			t.Errorf("settings of an unmatched announcement: %+v", c.Capture)
		}
	}
	if c, err := rs.Choose(&post.Announcement{Base: "http://h/", Path: "a b"}); err != nil || c.Accept {
		t.Error("escaped text", err)
	}
	slow, err := NewRules([]config.Rule{{Pattern: `(?!x).*(a+)+\d`, File: "x.conf", Line: 7}}, capture, true)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := slow.Choose(&post.Announcement{Base: "http://h/", Path: strings.Repeat("a", 60)}); err == nil || !strings.Contains(err.Error(), "x.conf:7") {
		t.Errorf("a pattern that takes for ever said %v, %v", c.Accept, err)
	}
	if _, err := NewRules([]config.Rule{{Pattern: "("}}, capture, true); err == nil {
		t.Error("a broken pattern compiled")
	}
}
