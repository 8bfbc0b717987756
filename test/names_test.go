package test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"srpump/post"
	"srpump/pump/retry"
)

// awkward are names the first line of a v02 message cannot carry as they are, or that somebody on the way
// could take for something else.
func awkward() []string {
	return []string{"a%20literal", "a%23b", "sp ace#", "tab\there", "two\nlines", "cr\rx", "esc\x1b[2Jx", "\xff\xfe latin \xe9.bin", "caf\u00e9", "a\u2028b", "\u2028 and \ufeff%20", `a\u2028b`,
		"-rf", "; rm x", "$HOME", "${PBD}", `back\slash`, `quo"te'`, "100%", "%", "%2", "%2e%2e", "a+b&c?d=e", "x:y@z", strings.Repeat("\xfe", 150), "d%20\xff/in\nner"}
}

// Whatever a file is called, through a poster, a winnow and a subscriber it arrives under its exact name,
// and no name makes a second line in a log.
func TestAwkwardNames(t *testing.T) {
	onBothBrokers(t, func(t *testing.T, url string) {
		h := newHost(t)
		for _, name := range awkward() {
			h.write("src/"+name, "in "+name)
		}
		in, out := fresh("xs_guest"), fresh("xs_guest")
		conn := connect(t, url)
		captureFrom(t, conn, in)
		captureFrom(t, conn, out)
		serve := h.start("sr_serve", "-listen", "127.0.0.1:0", h.path("src"))
		serve.await(`serving .*url=http`)
		base := regexp.MustCompile(`url=(http://\S+)`).FindStringSubmatch(serve.text())[1]
		w := h.start("sr_winnow", "-b", url, "-exchange", in, "-pb", url, "-post_exchange", out, "-queue_name", fresh("q_guest_w"), "-log_format", "v02")
		w.await("consuming")
		r := h.start("sr_subscribe", "-b", url, "-exchange", out, "-queue_name", fresh("q_guest_s"), "-mirror", "-directory", h.path("dst"), "-log_format", "v02")
		r.await("consuming")
		h.run(0, "", "sr_post", "-pb", url, "-post_exchange", in, "-pbu", base, "-pbd", h.path("src"), "-p", h.path("src"))
		for _, name := range awkward() {
			waitFor(t, "arrives as "+name, func() bool {
				b, err := os.ReadFile(filepath.Join(h.path("dst"), name))
				return err == nil && string(b) == "in "+name
			}, r.text)
		}
		w.stop()
		r.stop()
		if got := present(t, h.path("dst")); len(got) != len(awkward()) {
			t.Errorf("%d files: %q", len(got), got)
		}
		line := regexp.MustCompile(`^20\d\d-\d\d-\d\d \d\d:\d\d:\d\d,\d\d\d \[[A-Z]+\] [^\x00-\x1f\x{2028}]+$`)
		for _, log := range []string{w.text(), r.text()} {
			for _, l := range strings.Split(strings.TrimSuffix(log, "\n"), "\n") {
				if !line.MatchString(l) {
					t.Errorf("a forged or broken line: %q", l)
				}
			}
		}
		saved, _ := h.run(0, w.text(), "sr_log2save")
		logged := pathsSaved(t, saved)
		for _, name := range awkward() {
			if !slices.Contains(logged, name) {
				t.Errorf("the log of v02 does not tell of %q", name)
			}
		}
		if len(logged) != len(awkward()) {
			t.Errorf("%d of %d announcements in the log of v02", len(logged), len(awkward()))
		}
	})
}

// pathsSaved are the paths of the lines of a save file.
func pathsSaved(t *testing.T, text string) (paths []string) {
	t.Helper()
	for line := range strings.Lines(text) {
		m, _, err := retry.DecodeSaved([]byte(line))
		must(t, err)
		a, err := post.DecodeV02(m.Topic, m.Headers, m.Body)
		must(t, err)
		paths = append(paths, a.Path)
	}
	return paths
}
