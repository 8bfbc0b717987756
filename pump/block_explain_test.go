package pump

import (
	"strings"
	"testing"

	"srpump/partition"
	"srpump/post"
	"srpump/pump/config"
)

// explain names the place and the announcement of a block as they will be, and why one is not received.
func TestExplainBlocks(t *testing.T) {
	h := newHouse(t)
	a := cutUp("http://source/", "d/x", noise(2500, 30), 1000, 1700000000)[1]
	p := a.Clone()
	p.Block.Method = partition.Parted
	p.Path = "d/" + partition.PartName("x", p.Block, "d")
	args := []string{"-directory", h.dir + "/out", "-mirror", "-post_broker", "sqlite://" + h.db, "-post_exchange", "xcopy", "-post_base_url", "http://me/", "-post_base_dir", h.dir + "/out"}
	for _, c := range []struct {
		a     *post.Announcement
		more  string
		parts string
		path  string
	}{
		{a, "-inplace on", "i,1000,3,500,1", "d/x"},
		{p, "-inplace on", "i,1000,3,500,1", "d/x"},
		{a, "-inplace off", "p,1000,3,500,1", p.Path},
		{p, "-inplace off", "p,1000,3,500,1", p.Path},
		{a, "-stage cat", "", ""},
	} {
		f, err := NewFlow(h.config(config.Subscribe, append(strings.Fields(c.more), append([]string{"-exchange", "xin"}, args...)...)...), h.host())
		if err != nil {
			t.Fatal(err)
		}
		e := f.explain(c.a)
		if c.parts == "" {
			if e.Refused == nil {
				t.Errorf("%s: not refused", c.more)
			}
			continue
		}
		if e.Refused != nil || e.Steps == nil || e.Steps.Place.Path != c.path || len(e.Posted) != 1 || e.Posted[0].Headers["parts"] != c.parts || !strings.Contains(e.Posted[0].Line, " "+c.path) {
			t.Errorf("%s %s: %+v %+v", c.more, c.a.Path, e, e.Steps)
		}
	}
}
