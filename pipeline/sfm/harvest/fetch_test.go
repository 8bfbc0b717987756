package harvest_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/harvest"
	"srpump/pipeline/warc"
)

// walk does a harvest that is nothing but this walk.
func walk(t *testing.T, base string, do func(ctx context.Context, w *harvest.Walk) error) *desk {
	t.Helper()
	d := newDesk(t, base)
	d.options.Tries = 1
	d.options.Bases["probe"] = base
	d.options.Types = []*harvest.Type{{Name: "flickr_user", Platform: "flickr", Module: "probe", Secrets: []string{"api_key", "X-Token"}, MinSeeds: -1, MaxSeeds: -1, Walk: do}}
	d.run(t.Context(), d.job("a1", "flickr_user", `[]`), harvest.Succeeded)
	return d
}

// records are those of all WARCs of a collection but the first of each, with their blocks.
func (d *desk) records() (all []*warc.Record, blocks []string) {
	d.t.Helper()
	must(d.t, filepath.WalkDir(d.collection, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".warc.gz") {
			return err
		}
		f, err := os.Open(path)
		must(d.t, err)
		defer f.Close()
		in := warc.NewReader(f, warc.ReadOptions{Report: func(f *warc.Fault) { d.t.Errorf("%s: %s", path, f) }})
		for {
			rec, err := in.Next()
			if err == io.EOF {
				return nil
			}
			must(d.t, err)
			block, err := io.ReadAll(rec.Block)
			must(d.t, err)
			if rec.Type() != warc.Info {
				all, blocks = append(all, rec), append(blocks, string(block))
			}
		}
	}))
	return all, blocks
}

// What is recorded is what went over the wire, chunks and compression and all; request and response belong
// together; credentials are nowhere, and nowhere in what is said.
func TestBytesOnTheWire(t *testing.T) {
	const answer = "HTTP/1.1 200 OK\r\nContent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n6;x=y\r\nhello \r\n5\r\nworld\r\n0\r\n\r\n"
	base := rawServer(t, func(c net.Conn, _ string) { fmt.Fprint(c, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"+answer) })
	var got *harvest.Answer
	d := walk(t, base, func(ctx context.Context, w *harvest.Walk) (err error) {
		got, err = w.Fetch(ctx, harvest.Request{Method: "POST", URL: w.Base() + "/a?api_key=0123456789abcdef&q=%22x%22&z=0123456789abcdef", Body: []byte("a=b&api_key=geheim12&c=ABCDEFGHIJKL"),
			Header: http.Header{"X-Token": {"geheim"}, "Authorization": {"Bearer ABCDEFGHIJKL"}, "Content-Type": {"application/x-www-form-urlencoded"}}})
		return err
	})
	if got.Status != 200 || string(got.Body) != "hello world" {
		t.Errorf("got %+v", got)
	}
	all, blocks := d.records()
	if len(all) != 2 || blocks[0] != answer {
		t.Fatalf("recorded %q", blocks)
	}
	for _, rec := range all {
		if rec.URI() != base+"/a?api_key=SCRUBBED&q=%22x%22&z=SCRUBBED" {
			t.Errorf("the URI is %s", rec.URI())
		}
	}
	response, request := all[0], all[1]
	if response.Fields.Get(warc.FieldIP) != "127.0.0.1" || request.Fields.Get(warc.FieldConcurrentTo) != response.ID() ||
		!strings.HasPrefix(response.Fields.Get(warc.FieldPayloadDigest), "sha1:") || len(response.Fields.Get(warc.FieldBlockDigest)) != 45 {
		t.Errorf("fields are %v and %v", response.Fields, request.Fields)
	}
	if !strings.HasPrefix(blocks[1], "POST /a?api_key=SCRUBBED&q=%22x%22&z=SCRUBBED HTTP/1.1\r\nHost: ") || !strings.HasSuffix(blocks[1], "\r\n\r\na=b&api_key=SCRUBBED&c=SCRUBBED") {
		t.Errorf("the request is %q", blocks[1])
	}
	for _, secret := range []string{"0123456789abcdef", "ABCDEFGHIJKL", "geheim"} {
		if strings.Contains(strings.Join(blocks, "")+d.log.String(), secret) {
			t.Errorf("%s is told", secret)
		}
	}
}

// rawServer answers each request, on connections that stay open, with what answer writes.
func rawServer(t *testing.T, answer func(c net.Conn, target string)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				in := bufio.NewReader(c)
				for {
					req, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, req.Body)
					answer(c, req.URL.Path)
					if req.URL.Path == "/close" {
						return
					}
				}
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

// A connection the server has closed meanwhile is not taken for a server that is out of order; the next one
// is asked, and nothing is recorded twice.
func TestClosedConnection(t *testing.T) {
	base := rawServer(t, func(c net.Conn, _ string) { fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") })
	d := walk(t, base, func(ctx context.Context, w *harvest.Walk) error {
		for _, path := range []string{"/close", "/b", "/close", "/c"} {
			if a, err := w.Fetch(ctx, harvest.Request{URL: w.Base() + path, Tries: 1}); err != nil || string(a.Body) != "ok" {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
		return nil
	})
	if all, _ := d.records(); len(all) != 8 {
		t.Errorf("%d records", len(all))
	}
}

// Answers without an end, packed or not, are cut; those that are cut off are asked for again, and both are
// recorded as what they are.
func TestLongAndShortAnswers(t *testing.T) {
	cut := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			for range 40 {
				_, _ = z.Write(make([]byte, 1<<20))
			}
			_ = z.Close()
		case "/long":
			for range 20 {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		case "/cut":
			w.Header().Set("Content-Length", "100")
			if cut++; cut > 1 {
				_, _ = w.Write(make([]byte, 100))
				return
			}
			_, _ = w.Write(make([]byte, 50))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		case "/head":
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			defer c.Close()
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\n")
			for err == nil {
				_, err = fmt.Fprintf(c, "X-A: %s\r\n", strings.Repeat("a", 10000))
			}
		case "/bad":
			w.Header().Set("Content-Encoding", "gzip")
			fmt.Fprint(w, "this is not packed")
		}
	}))
	defer server.Close()
	d := walk(t, server.URL, func(ctx context.Context, w *harvest.Walk) error {
		for _, path := range []string{"/bomb", "/long"} {
			a, err := w.Fetch(ctx, harvest.Request{URL: w.Base() + path, MaxBody: 1 << 20})
			if err != nil || !a.Cut || len(a.Body) != 1<<20 {
				return fmt.Errorf("%s: %d bytes, %v", path, len(a.Body), err)
			}
		}
		a, err := w.Get(ctx, w.Base()+"/cut", nil)
		if err != nil || len(a.Body) != 100 {
			return fmt.Errorf("cut: %+v, %v", a, err)
		}
		for _, path := range []string{"/bad", "/head"} {
			if a, err = w.Get(ctx, w.Base()+path, nil); err == nil {
				return fmt.Errorf("%s: %+v", path, a)
			}
		}
		return nil
	})
	var truncated []string
	all, blocks := d.records()
	for i, rec := range all {
		if rec.Type() == warc.Response {
			truncated = append(truncated, rec.Fields.Get(warc.FieldTruncated))
			if len(blocks[i]) > 2<<20 {
				t.Errorf("%s has %d bytes", rec.URI(), len(blocks[i]))
			}
		}
	}
	if got := strings.Join(truncated, ","); got != "length,length,disconnect,,disconnect,disconnect" {
		t.Errorf("truncated: %s", got)
	}
}

// What is sent with a question is sent again on the next connection.
func TestClosedConnectionWithBody(t *testing.T) {
	base := rawServer(t, func(c net.Conn, _ string) { fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") })
	walk(t, base, func(ctx context.Context, w *harvest.Walk) error {
		for _, path := range []string{"/close", "/b"} {
			if _, err := w.Fetch(ctx, harvest.Request{Method: "POST", Body: []byte("body"), URL: w.Base() + path, Tries: 1}); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
		return nil
	})
}

// The password in an address is nowhere in what is recorded and said.
func TestPasswordInAddress(t *testing.T) {
	base := rawServer(t, func(c net.Conn, _ string) { fmt.Fprint(c, "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n") })
	d := walk(t, base, func(ctx context.Context, w *harvest.Walk) error {
		at := strings.Replace(w.Base(), "://", "://ann:geheim@", 1)
		for _, url := range []string{at + "/a@b", at + "/a:x/b", at + ":port/"} {
			_, err := w.Get(ctx, url, nil)
			if err == nil || strings.Contains(err.Error(), "geheim") {
				return fmt.Errorf("the error is %w", err)
			}
		}
		return nil
	})
	all, _ := d.records()
	if len(all) != 8 || all[0].URI() != strings.Replace(base, "://", "://SCRUBBED@", 1)+"/a@b" {
		t.Errorf("recorded %d, of %s", len(all), all[0].URI())
	}
	for _, rec := range all {
		if strings.Contains(rec.URI()+d.log.String(), "geheim") {
			t.Errorf("%s; log:\n%s", rec.URI(), d.log.String())
		}
	}
}

// Credentials that are to stay in what is recorded are in nothing that is said all the same.
func TestExactRecords(t *testing.T) {
	base := rawServer(t, func(c net.Conn, _ string) { fmt.Fprint(c, "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n") })
	d := newDesk(t, base)
	d.options.Exact, d.options.Tries = true, 1
	d.options.Types = []*harvest.Type{{Name: "flickr_user", Secrets: []string{"api_key"}, Walk: func(ctx context.Context, w *harvest.Walk) error {
		_, err := w.Get(ctx, w.Base()+"/?api_key=0123456789abcdef", nil)
		return err
	}}}
	d.run(t.Context(), d.job("a1", "flickr_user", `[]`), harvest.Failed)
	if all, _ := d.records(); len(all) != 4 || !strings.HasSuffix(all[0].URI(), "=0123456789abcdef") {
		t.Errorf("%d records", len(all))
	}
	if said := fmt.Sprintf("%s%s", d.said, d.log.String()); strings.Contains(said, "0123456789abcdef") {
		t.Error(said)
	}
}

// An answer that comes byte by byte without an end is given up.
func TestSlowAnswer(t *testing.T) {
	base := rawServer(t, func(c net.Conn, _ string) {
		_, err := fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
		for err == nil {
			_, err = c.Write([]byte("a"))
			time.Sleep(time.Millisecond) // it is what is slow
		}
	})
	d := newDesk(t, base)
	d.options.Tries, d.options.Patience.Answer = 1, 50*time.Millisecond
	d.options.Types = []*harvest.Type{{Name: "flickr_user", Walk: func(ctx context.Context, w *harvest.Walk) error {
		_, err := w.Get(ctx, w.Base()+"/", nil)
		return err
	}}}
	d.run(t.Context(), d.job("a1", "flickr_user", `[]`), harvest.Failed)
	if last := d.last(); len(last.Errors) != 1 || last.Errors[0].Message != "the answer takes longer than 50ms" {
		t.Errorf("ended with %+v", last)
	}
	if all, _ := d.records(); len(all) != 4 || all[0].Fields.Get(warc.FieldTruncated) != "disconnect" {
		t.Errorf("%d records", len(all))
	}
}

// Of many hosts only some connections are kept.
func TestManyHosts(t *testing.T) {
	var open atomic.Int64
	var bases []string
	for range 40 {
		bases = append(bases, rawServer(t, func(c net.Conn, target string) {
			if target == "/" {
				open.Add(1)
			}
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}))
	}
	files := func() int {
		names, err := os.ReadDir("/proc/self/fd")
		must(t, err)
		return len(names)
	}
	before, after := files(), 0
	walk(t, bases[0], func(ctx context.Context, w *harvest.Walk) error {
		for range 2 {
			for _, base := range bases {
				if _, err := w.Get(ctx, base+"/", nil); err != nil {
					return err
				}
			}
		}
		after = files()
		return nil
	})
	if open.Load() != 80 || after-before > 60 { // both ends of each are here
		t.Errorf("%d answers, %d more files are open", open.Load(), after-before)
	}
}

// Addresses that are not allowed are not asked at all, and that is not tried again.
func TestAllow(t *testing.T) {
	asked := false
	base := rawServer(t, func(c net.Conn, _ string) { asked = true })
	refuse := errors.New("not this one")
	walk(t, base, func(ctx context.Context, w *harvest.Walk) error {
		_, err := w.Fetch(ctx, harvest.Request{URL: w.Base(), Allow: func(netip.Addr) error { return refuse }})
		if !errors.Is(err, refuse) {
			return fmt.Errorf("the error is %w", err)
		}
		return nil
	})
	if asked {
		t.Error("it was asked")
	}
}

// What came before is recorded as having come again.
func TestRevisit(t *testing.T) {
	base := rawServer(t, func(c net.Conn, _ string) { fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") })
	d := walk(t, base, func(ctx context.Context, w *harvest.Walk) error {
		first, err := w.Get(ctx, w.Base()+"/a", nil)
		if err != nil {
			return err
		}
		_, err = w.Fetch(ctx, harvest.Request{URL: w.Base() + "/b", Seen: func(digest, _ string) *warc.Record {
			if digest != first.Digest {
				return nil
			}
			return first.Record
		}})
		return err
	})
	all, blocks := d.records()
	if len(all) != 4 || all[2].Type() != warc.Revisit || all[2].Fields.Get(warc.FieldRefersTo) != all[0].ID() || !strings.HasSuffix(blocks[2], "Content-Length: 2\r\n\r\n") {
		t.Errorf("recorded %v", blocks)
	}
}

// Servers say in many ways when they may be asked again.
func TestRateLimits(t *testing.T) {
	soon := func(d time.Duration) time.Time { return time.Now().Add(d) }
	for name, headers := range map[string][]string{
		"retry-after":  {"Retry-After: 1"},
		"a date":       {"Retry-After: " + soon(1500*time.Millisecond).UTC().Format(http.TimeFormat)},
		"seconds":      {"X-RateLimit-Reset: 1"},
		"since 1970":   {fmt.Sprintf("x-rate-limit-reset: %d", soon(1500*time.Millisecond).Unix()), "x-rate-limit-remaining: 0"},
		"a time":       {"X-RateLimit-Reset: " + soon(time.Second).UTC().Format(time.RFC3339Nano), "X-RateLimit-Remaining: 0"},
		"by the hour":  {"X-Ratelimit-Perhour-Reset: 1", "X-Ratelimit-Perhour-Remaining: 0", "X-Ratelimit-Perday-Reset: 50000", "X-Ratelimit-Perday-Remaining: 7"},
		"nothing said": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := 0
			base := rawServer(t, func(c net.Conn, _ string) {
				if n++; n == 1 {
					fmt.Fprintf(c, "HTTP/1.1 429 Too Many\r\nContent-Length: 0\r\n%s\r\n\r\n", strings.Join(headers, "\r\n"))
					return
				}
				fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			})
			d := walk(t, base, func(ctx context.Context, w *harvest.Walk) error {
				a, err := w.Get(ctx, w.Base(), nil)
				if err != nil || a.Status != 200 {
					return fmt.Errorf("%+v, %w", a, err)
				}
				return nil
			})
			if all, _ := d.records(); len(all) != 4 {
				t.Errorf("%d records", len(all))
			}
		})
	}
}

// An answer that says that it was the last for a while is heeded before the next request is made.
func TestLastBeforeLimit(t *testing.T) {
	base := rawServer(t, func(c net.Conn, _ string) {
		fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-RateLimit-Remaining: 0\r\nX-RateLimit-Reset: 3000\r\n\r\n")
	})
	d := newDesk(t, base)
	stop := make(chan struct{})
	d.options.Types = []*harvest.Type{{Name: "flickr_user", Platform: "flickr", Module: "probe", MinSeeds: -1, MaxSeeds: -1,
		Walk: func(ctx context.Context, w *harvest.Walk) error {
			if _, err := w.Get(ctx, w.Base(), nil); err != nil {
				return err
			}
			close(stop) // the wait ends with the harvest
			_, err := w.Get(ctx, w.Base(), nil)
			return err
		}}}
	job := d.job("a1", "flickr_user", `[]`)
	job.Stop = stop
	d.run(t.Context(), job, harvest.Succeeded)
	if all, _ := d.records(); len(all) != 2 || d.last().Status != sfm.Success {
		t.Errorf("%d records", len(all))
	}
}
