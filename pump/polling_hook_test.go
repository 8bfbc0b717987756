package pump

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// do_poll lists a kind of server nothing here knows, directory by directory; on_line sees each line, and
// changes it or leaves it out. A name that climbs is refused whoever prints it.
func TestHookPolls(t *testing.T) {
	h := newHouse(t)
	list := h.script("list", `echo "$1" >>`+h.dir+`/asked
case $1 in
*/sub/) echo "-rw-r--r-- 1 u g 7 Nov 20 2026 ; rm x";;
*) cat <<'END'
drwxr-xr-x 2 u g 4096 Nov 20 2026 sub
-rw-r--r-- 1 u g 5 Nov 20 2026 -rf
-rw-r--r-- 1 u g 5 Nov 20 2026 secret
-rw-r--r-- 1 u g 5 Nov 20 2026 ../../etc
END
esac`)
	args := []string{"-destination", "odd://u:password@host/pub", "-do_poll", "odd cmd:" + list + " ${url}",
		"-on_line", "exec:sed -u 's/\"text\":\"[^\"]*secret\"/\"ok\":false/; s/-rf/dash/'"}
	h.expect("first", h.polled(args...), "dash", "sub/; rm x")
	h.expect("again", h.polled(args...))
	if asked := h.content("asked"); asked != strings.Repeat("odd://u@host/pub/\nodd://u@host/pub/sub/\n", 2) && strings.Contains(asked, "password") {
		t.Errorf("asked for %q", asked)
	}
	h.script("list", "exit 1")
	h.expect("no listing", h.polled(args...))
	h.script("list", `case $1 in */sub/) ;; *) echo "-rw-r--r-- 1 u g 5 Nov 20 2026 -rf"; esac`)
	h.expect("what was there is remembered", h.polled(args...))
	if !strings.Contains(h.log.String(), "msg=\"not listed\"") {
		t.Error("nothing is said of what is not listed")
	}
}

// on_html_page is given the page and says what is read in its place; false is a page that cannot be read.
func TestHookReadsAPage(t *testing.T) {
	h := newHouse(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("a.txt|b.txt|../c"))
	}))
	t.Cleanup(s.Close)
	args := []string{"-destination", s.URL + "/", "-on_html_page", `cmd:sed 's,[^|]*,<a href="&">&</a>,g'`}
	h.expect("links", h.polled(args...), "a.txt", "b.txt")
	h.expect("false", h.polled("-destination", s.URL+"/", "-reset", "-on_html_page", "cmd:false"))
	h.expect("more than a line of an answer", h.polled("-destination", s.URL+"/", "-on_html_page", "cmd:head -c 2000000 /dev/zero"))
	if n := strings.Count(h.log.String(), "msg=\"not listed\""); n != 2 {
		t.Errorf("%d said not to be listed: %s", n, h.log.String())
	}
}
