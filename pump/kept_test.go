package pump

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"srpump/post"
	"srpump/pump/config"
)

// attr is an extended attribute of a file; "" when it has none.
func attr(path, name string) string {
	var b [300]byte
	n, err := unix.Getxattr(path, name, b[:])
	if err != nil {
		return ""
	}
	return string(b[:n])
}

// aged is a file that was last changed a minute ago.
func (h *house) aged(path, content string) string {
	h.t.Helper()
	full, then := h.write(path, content), time.Now().Add(-time.Minute)
	if err := os.Chtimes(full, then, then); err != nil {
		h.t.Fatal(err)
	}
	if unix.Setxattr(full, "user.probe", nil, 0) != nil {
		h.t.Skip("no extended attributes here")
	}
	return full
}

// The option xattr_disable of posters: a sum is kept, and taken from there instead of reading the file; with
// the option neither.
func TestPostKeepsSums(t *testing.T) {
	h := newHouse(t)
	path := h.aged("base/a", "aaa")
	got := h.capture("xout")
	post := func(args ...string) string {
		t.Helper()
		before := len(got())
		if err := h.poster(config.Post, args...).Post(t.Context(), []string{"a"}); err != nil {
			t.Fatal(err)
		}
		h.until("announced", func() bool { return len(got()) > before })
		return got()[before].Sum.String()
	}
	const real, lie = "d,47bce5c74f589f4867dbd57e9ca9f808", "d,00000000000000000000000000000000"
	if s := post("-xattr_disable", "on"); s != real || attr(path, "user.sr_sum") != "" {
		t.Errorf("disabled: %s, kept %q", s, attr(path, "user.sr_sum"))
	}
	if s := post(); s != real || attr(path, "user.sr_sum") != real {
		t.Errorf("%s, kept %q", s, attr(path, "user.sr_sum"))
	}
	if err := unix.Setxattr(path, "user.sr_sum", []byte(lie), 0); err != nil {
		t.Fatal(err)
	}
	if s := post(); s != lie {
		t.Errorf("the kept sum was not taken: %s", s)
	}
	if s := post("-xattr_disable", "on"); s != real {
		t.Errorf("the kept sum was taken: %s", s)
	}
	if s := post("-sum", "s"); !strings.HasPrefix(s, "s,") || !strings.HasPrefix(attr(path, "user.sr_sum"), "s,") {
		t.Errorf("another method: %s, kept %q", s, attr(path, "user.sr_sum"))
	}
	if err := unix.Setxattr(path, "user.sr_sum", []byte(lie), 0); err != nil {
		t.Fatal(err)
	}
	if s := post("-blocksize", "2"); s == lie {
		t.Error("the kept sum was taken for a block")
	}
}

// What is fetched keeps its sum and time under its name, unless xattr_disable forbids.
func TestFetchKeepsSums(t *testing.T) {
	h := newHouse(t)
	h.aged("probe", "")
	web := h.web(map[string]string{"/a": "aaa", "/b": "aaa"})
	for name, option := range map[string]string{"a": "off", "b": "on"} {
		_, stop := h.run(config.Subscribe, "-exchange", "xin", "-directory", h.dir+"/dst", "-xattr_disable", option)
		a := announced(web.URL, name, "aaa", 1700000000)
		a.SetHeader(post.HeaderMtime, "20200102030405.06")
		h.post("xin", a)
		h.until("fetched", func() bool { return h.content("dst/"+name) == "aaa" })
		stop()
	}
	if sum, mtime := attr(h.dir+"/dst/a", "user.sr_sum"), attr(h.dir+"/dst/a", "user.sr_mtime"); sum != "d,47bce5c74f589f4867dbd57e9ca9f808" || mtime != "20200102030405.06" {
		t.Errorf("kept %q of %q", sum, mtime)
	}
	if sum := attr(h.dir+"/dst/b", "user.sr_sum"); sum != "" {
		t.Errorf("kept %q", sum)
	}
}

// sr_watch does not take what it keeps for a change: what was there at the start and what comes is
// announced once, whether the kernel tells or each directory is read again.
func TestWatchKeepsSumsQuietly(t *testing.T) {
	for _, polling := range []string{"off", "on"} {
		t.Run("force_polling "+polling, func(t *testing.T) {
			h := newHouse(t)
			first := h.aged("base/a", "aaa")
			got := h.capture("xout")
			p := h.poster(config.Watch, "-sleep", "0.1", "-post_on_start", "on", "-force_polling", polling)
			end := h.start(func(ctx context.Context) error { return p.Watch(ctx, []string{h.dir + "/base"}) })
			seen := func(name string) (n int) {
				for _, a := range got() {
					if a.Path == name {
						n++
					}
				}
				return n
			}
			h.until("what is there is announced", func() bool { return seen("a") > 0 && attr(first, "user.sr_mtime") != "" })
			for _, name := range []string{"b", "c", "d"} { // each after all that the one before led to
				h.aged("base/"+name, name)
				h.until(name+" is announced", func() bool { return seen(name) > 0 })
			}
			if err := end(); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"a", "b"} {
				if seen(name) != 1 || attr(h.dir+"/base/"+name, "user.sr_sum") == "" {
					t.Errorf("%s: announced %d times, kept %q", name, seen(name), attr(h.dir+"/base/"+name, "user.sr_sum"))
				}
			}
		})
	}
}

// A file that keeps the sum announced, checksum or given by an application, is neither fetched nor read again.
func TestKeptSumIsUnchanged(t *testing.T) {
	for _, sum := range []string{"d,00000000000000000000000000000000", "a,65537"} {
		t.Run(sum, func(t *testing.T) {
			h := newHouse(t)
			path := h.aged("dst/a", "aaa")
			web := h.web(map[string]string{"/a": "new"})
			f, stop := h.run(config.Subscribe, "-exchange", "xin", "-directory", h.dir+"/dst", "-preserve_mode", "off", "-preserve_time", "off")
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			for name, value := range map[string]string{"user.sr_sum": sum, "user.sr_mtime": post.FormatTime(info.ModTime())} {
				if err := unix.Setxattr(path, name, []byte(value), 0); err != nil {
					t.Fatal(err)
				}
			}
			a := announced(web.URL+"/", "a", "aaa", 1700000000)
			if a.Sum, err = post.ParseSum(sum); err != nil {
				t.Fatal(err)
			}
			h.post("xin", a)
			h.until("unchanged", func() bool { return f.Counters.Unchanged.Load() == 1 })
			if b := a.Clone(); sum[0] == 'a' { // another value is another file, whose value is kept
				b.Sum.Value, b.Time = "65538", post.At(b.Time.Time().Add(time.Second))
				h.post("xin", b)
				h.until("fetched", func() bool { return attr(path, "user.sr_sum") == "a,65538" })
			}
			stop()
		})
	}
}
