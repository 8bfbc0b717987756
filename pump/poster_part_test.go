package pump

import (
	"context"
	"strings"
	"testing"

	"srpump/pump/config"
)

// sr_post(7), "Part files": one with a true name is announced as the block it is, by the method its name ends
// in; others are passed over.
func TestPartFiles(t *testing.T) {
	h := newHouse(t)
	block := strings.Repeat("A", 100)
	for name, want := range map[string]string{
		"p250.100.3.50.1.d.Part":                "p,100,3,50,1 d,8adc5937e635f6c9af646f0b23560fae",
		"p250.100.3.50.0.s.Part":                "p,100,3,50,0 " + sumOf("s", []byte(block)),
		"a.b.c.100.1.0.0.d.Part":                "p,100,1,0,0 d,8adc5937e635f6c9af646f0b23560fae",
		"x.Part":                                "",
		"x.100.3.50.3.d.Part":                   "",
		"x.100.3.50.2.d.Part":                   "", // has 50 bytes
		"x.100.3.-50.1.d.Part":                  "",
		"x.100.3.100.1.d.Part":                  "",
		"x.+100.3.50.1.d.Part":                  "",
		"x.100.3.50.1.q.Part":                   "",
		"x.100.1000000000.0.5.d.Part":           "", // more blocks than anybody keeps account of
		"x.100.92233720368547759.0.1.d.Part":    "",
		"x.100.99999999999999999999.0.1.d.Part": "",
	} {
		h.write("base/"+name, block)
		got, err := h.dryRun(name, nil, "-blocksize", "7")
		if err != nil || strings.Join(parts(got), " ") != want {
			t.Errorf("%s: %q, %v", name, parts(got), err)
		}
	}
}

// A part file is announced again when it was written again, be it with the same: its file may be another.
func TestPartFileOnce(t *testing.T) {
	h := newHouse(t)
	got := h.capture("xout")
	const name = "x.3.2.0.1.d.Part"
	for i, total := range []int{1, 1, 2} {
		if i != 1 {
			h.aged("base/"+name, "abc")
		}
		if err := h.poster(config.Post, "-suppress_duplicates", "1h").Post(context.Background(), []string{name}); err != nil {
			t.Fatal(i, err)
		}
		h.until("it is here", func() bool { return len(got()) >= total })
		if len(got()) != total {
			t.Fatalf("step %d: %q", i, parts(got()))
		}
	}
}
