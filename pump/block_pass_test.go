package pump

import (
	"os"
	"slices"
	"strings"
	"testing"

	"srpump/partition"
	"srpump/pump/config"
)

// Who moves announcements, or fetches for the fetching's sake, puts nothing together: blocks pass unchanged, each
// by itself.
func TestBlocksPassedOn(t *testing.T) {
	content := noise(2500, 20)
	for name, c := range map[string]struct {
		preset config.Preset
		args   []string
	}{
		"sr_winnow":   {config.Winnow, nil},
		"sr_shovel":   {config.Shovel, nil},
		"notify_only": {config.Subscribe, []string{"-notify_only", "-post_broker", "DB"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			got := h.capture("xout")
			for i := range c.args {
				c.args[i] = strings.ReplaceAll(c.args[i], "DB", "sqlite://"+h.db)
			}
			f, _ := h.run(c.preset, append(c.args, "-exchange", "xin", "-post_exchange", "xout")...)
			as := cutUp("http://source/", "d/x", content, 1000, 1700000000)
			as[1].Block.Method = partition.Parted
			as[1].Path = "d/" + partition.PartName("x", as[1].Block, "d")
			h.post("xin", append(slices.Clone(as), as[2])...)
			h.settled(f, 4)
			want := 4
			if c.preset == config.Winnow {
				want = 3
			}
			h.until("they have passed", func() bool { return len(got()) == want })
			for i, a := range as {
				g := got()[i]
				if g.Base != a.Base || g.Path != a.Path || g.Block != a.Block || g.Sum != a.Sum || g.Time.String() != a.Time.String() {
					t.Errorf("%+v became %+v", a, g)
				}
			}
			if _, err := os.Stat(h.dir + "/d"); err == nil {
				t.Error("something was made here")
			}
		})
	}
}

// sr_options(5), discard: blocks are fetched, and nothing stays of them.
func TestBlocksDiscarded(t *testing.T) {
	h := newHouse(t)
	content := noise(2500, 21)
	web := h.blockServer(map[string][]byte{"/x": content})
	f, _ := h.run(config.Subscribe, "-directory", h.dir+"/out", "-discard")
	h.post("xpublic", cutUp(web.URL+"/", "x", content, 1000, 1700000000)...)
	h.settled(f, 3)
	if left := h.leftOver("out"); len(left) > 0 || web.bytes.Load() != 2500 || f.Counters.Fetched.Load() != 3 {
		t.Errorf("left %v, %d bytes asked for, %d fetched", left, web.bytes.Load(), f.Counters.Fetched.Load())
	}
}

// sr_sender(1): blocks of a local file, or its part files, are put together at a destination of this host.
func TestBlocksDelivered(t *testing.T) {
	h := newHouse(t)
	content := noise(2500, 22)
	as := cutUp("http://nobody.example/", "d/x", content, 1000, 1700000000)
	as[2].Block.Method = partition.Parted
	as[2].Path = "d/" + partition.PartName("x", as[2].Block, "d")
	h.write("pub/d/x", string(content[:2000]))
	h.write("pub/"+as[2].Path, string(content[2000:]))
	f, _ := h.run(config.Sender, "-base_dir", h.dir+"/pub", "-destination", "file://"+h.dir+"/there", "-accept", ".*")
	h.post("xpublic", as...)
	h.settled(f, 3)
	if h.content("there/d/x") != string(content) || len(h.leftOver("there", "d/x")) > 0 {
		t.Errorf("left %v", h.leftOver("there"))
	}
}

// sr_hooks(7): on_part sees each block, in the temporary file, on_file the file, once, under its name; both may
// keep it from being announced.
func TestBlockHooks(t *testing.T) {
	h := newHouse(t)
	content := noise(2500, 23)
	web := h.blockServer(map[string][]byte{"/x": content, "/y": content})
	got := h.capture("xcopy")
	part := h.script("part", `while read -r line; do echo "$line" >>`+h.dir+`/parts
case $line in *'"parts":"i,1000,3,500,1"'*) echo false;; *) echo true;; esac; done`)
	file := h.script("file", `while read -r line; do echo "$line" >>`+h.dir+`/files
case $line in *out/y*) echo false;; *) echo true;; esac; done`)
	f, _ := h.run(config.Subscribe, "-exchange", "xin", "-directory", h.dir+"/out", "-on_part", "exec:"+part, "-on_file", "exec:"+file,
		"-post_broker", "sqlite://"+h.db, "-post_exchange", "xcopy", "-post_base_url", "http://me/", "-post_base_dir", h.dir+"/out")
	h.post("xin", append(cutUp(web.URL+"/", "x", content, 1000, 1700000000), cutUp(web.URL+"/", "y", content, 1000, 1700000000)...)...)
	h.settled(f, 6)
	h.until("two are announced", func() bool { return len(got()) == 2 })
	parts, files := h.content("parts"), h.content("files")
	if strings.Count(parts, "\n") != 6 || strings.Count(parts, ".tmp") != 6 || strings.Count(files, "\n") != 2 || strings.Contains(files, ".tmp") {
		t.Errorf("parts\n%s\nfiles\n%s", parts, files)
	}
	if h.content("out/x") != string(content) || h.content("out/y") != string(content) {
		t.Error("other bytes")
	}
	for _, a := range got() {
		if a.Path != "x" || a.Block.Number == 1 {
			t.Errorf("announced %s %s", a.Path, a.Block)
		}
	}
}

// Blocks cannot be given to what works on files.
func TestBlocksRefused(t *testing.T) {
	content := noise(2500, 24)
	for _, args := range [][]string{{"-on_data", "cmd:true"}, {"-do_download", "http cmd:true"}, {"-stage", "cat"}} {
		h := newHouse(t)
		web := h.blockServer(map[string][]byte{"/x": content})
		f, stop := h.run(config.Subscribe, append(args, "-directory", h.dir+"/out", "-post_broker", "sqlite://"+h.db, "-post_exchange", "xc", "-exchange", "xin", "-post_base_url", "http://me/")...)
		h.post("xin", cutUp(web.URL+"/", "x", content, 1000, 1700000000)...)
		h.settled(f, 3)
		if f.Counters.GivenUp.Load() != 3 || len(h.leftOver("out")) > 0 {
			t.Errorf("%v: %d given up, left %v", args, f.Counters.GivenUp.Load(), h.leftOver("out"))
		}
		stop()
	}
}

// sr_report(7): each block is reported as it is here, and as it is announced.
func TestBlockReports(t *testing.T) {
	h := newHouse(t)
	content := noise(2500, 25)
	web := h.blockServer(map[string][]byte{"/x": content})
	got := h.capture("xreport")
	h.run(config.Subscribe, "-directory", h.dir+"/out", "-pb", "sqlite://"+h.db, "-post_exchange", "xcopy", "-post_base_url", "http://me/")
	h.post("xpublic", cutUp(web.URL+"/", "x", content, 1000, 1700000000)...)
	h.until("all is reported", func() bool { return len(got()) >= 6 })
	if all := codes(got()); len(got()) != 6 || !sameSorted(all, []string{"201 Downloaded x", "201 Published x"}) {
		t.Errorf("%d: %q", len(got()), all)
	}
}
