package serve

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// tree is a directory with what must be served and what must not.
func tree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"pub/a.txt": "hello", "pub/b c#%?+é.bin": "odd", "pub/.hidden": "no", ".git/config": "no", "pub/x.unknown-type": "<html>",
	} {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"pub/in": "a.txt", "pub/out": "/etc/passwd", "pub/up": "../../../../../../../etc", "pub/dev": "/dev/zero"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pub/fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func ask(t *testing.T, o Options, method, target string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	h, err := Handler(o)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestStatuses(t *testing.T) {
	dir := tree(t)
	for _, c := range []struct {
		target  string
		status  int
		listing bool
	}{
		{"/pub/a.txt", 200, false}, {"/pub/in", 200, false}, {"/pub/b%20c%23%25%3F+%C3%A9.bin", 200, false},
		{"/pub/out", 404, false}, {"/pub/up/passwd", 404, false}, {"/pub/dev", 404, false}, {"/pub/fifo", 404, false},
		{"/pub/.hidden", 404, false}, {"/.git/config", 404, false}, {"/pub/../pub/a.txt", 404, false}, {"/pub//a.txt", 404, false},
		{"/pub/%2e%2e/%2e%2e/etc/passwd", 404, false}, {"/pub/a.txt%00", 404, false}, {"/pub/a.txt/", 404, false}, {"/none", 404, false},
		{"/pub/a.txt/x", 404, false}, {"/pub/", 404, false}, {"/", 404, false}, {"/pub/", 200, true}, {"/", 200, true}, {"/pub", 301, true},
		{"/" + strings.Repeat("x", 300), 404, false}, {"/" + strings.Repeat("x/", 3000), 404, false},
	} {
		w := ask(t, Options{Dir: dir, Listing: c.listing}, "GET", c.target)
		if w.Code != c.status {
			t.Errorf("%.60s: status %d, want %d", c.target, w.Code, c.status)
		}
		if w.Code != 200 && strings.Contains(w.Body.String(), dir) {
			t.Errorf("%.60s: the answer shows %s", c.target, dir)
		}
	}
	if w := ask(t, Options{Dir: dir}, "POST", "/pub/a.txt"); w.Code != 405 {
		t.Errorf("POST: status %d", w.Code)
	}
}

func TestConditionsAndRanges(t *testing.T) {
	o := Options{Dir: tree(t)}
	full := ask(t, o, "GET", "/pub/a.txt")
	tag := full.Header().Get("ETag")
	if tag == "" || full.Header().Get("Last-Modified") == "" || !strings.HasPrefix(full.Header().Get("Content-Type"), "text/plain") {
		t.Errorf("header %v", full.Header())
	}
	if got := ask(t, o, "GET", "/pub/x.unknown-type").Header().Get("Content-Type"); got != "application/octet-stream" {
		t.Errorf("type %q was guessed from the bytes", got)
	}
	if w := ask(t, o, "GET", "/pub/a.txt", "Range", "bytes=1-3"); w.Code != 206 || w.Body.String() != "ell" {
		t.Errorf("range: %d %q", w.Code, w.Body)
	}
	if w := ask(t, o, "GET", "/pub/a.txt", "If-None-Match", tag); w.Code != 304 {
		t.Errorf("unchanged: %d", w.Code)
	}
	if w := ask(t, o, "HEAD", "/pub/a.txt"); w.Code != 200 || w.Body.Len() != 0 || w.Header().Get("Content-Length") != "5" {
		t.Errorf("HEAD: %d %q %v", w.Code, w.Body, w.Header())
	}
	p := filepath.Join(o.Dir, "pub/a.txt")
	fi, _ := os.Stat(p)
	if err := os.WriteFile(p+".new", []byte("HELLO"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(p+".new", fi.ModTime(), fi.ModTime()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(p+".new", p); err != nil {
		t.Fatal(err)
	}
	if w := ask(t, o, "GET", "/pub/a.txt", "If-None-Match", tag); w.Code != 200 {
		t.Errorf("another file of the same size and time has the same ETag")
	}
}

func TestListingShowsWhatIsServed(t *testing.T) {
	got := ask(t, Options{Dir: tree(t), Listing: true}, "GET", "/pub/").Body.String()
	if !strings.Contains(got, `<a href="a.txt">a.txt</a>`) || !strings.Contains(got, `href="b%20c%23%25%3F+%C3%A9.bin"`) {
		t.Errorf("listing %s", got)
	}
	for _, no := range []string{"hidden", "fifo", "/etc"} {
		if strings.Contains(got, no) {
			t.Errorf("the listing shows %s", no)
		}
	}
}

// A file larger than a portion arrives whole through the limits on slow clients.
func TestServeSendsLargeFilesAndStops(t *testing.T) {
	dir := t.TempDir()
	const size = 3*portion + 17
	if err := os.WriteFile(filepath.Join(dir, "large"), []byte(strings.Repeat("x", size)), 0o644); err != nil {
		t.Fatal(err)
	}
	h, err := Handler(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, ln, h, slog.New(slog.DiscardHandler)) }()
	for _, span := range []struct {
		header string
		want   int
	}{{"", size}, {fmt.Sprintf("bytes=5-%d", portion+10), portion + 6}} {
		req, _ := http.NewRequest("GET", "http://"+ln.Addr().String()+"/large", nil)
		if span.header != "" {
			req.Header.Set("Range", span.header)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if err != nil || n != int64(span.want) {
			t.Errorf("got %d bytes, want %d: %v", n, span.want, err)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
