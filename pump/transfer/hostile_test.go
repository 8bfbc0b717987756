package transfer_test

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"srpump/pump/transfer"
)

// get reads a whole URL, at most a MiB of it.
func get(t *testing.T, g transfer.Getter, r transfer.Request) ([]byte, error) {
	t.Helper()
	body, err := g.Get(t.Context(), r)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(io.LimitReader(body, 1<<20))
}

func newHTTP(t *testing.T, o transfer.HTTPOptions) *transfer.HTTP {
	g := transfer.NewHTTP(o)
	t.Cleanup(func() { g.Close() })
	return g
}

func server(t *testing.T, h http.HandlerFunc) *httptest.Server {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// raw answers with bytes as they are and closes the connection.
func raw(answer string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, answer)
	}
}

func redirectTo(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusFound)
	}
}

func TestHostileAnswers(t *testing.T) {
	part := transfer.Request{Offset: 10, Length: 5}
	whole := transfer.Whole("")
	seen := transfer.Whole("")
	seen.IfUnchanged = transfer.Validator{ETag: `"one"`}
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		r      transfer.Request
		class  transfer.Class
	}{
		{"cut short", raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this"), whole, transfer.Temporary},
		{"chunks cut short", raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"), whole, transfer.Temporary},
		{"no HTTP", raw("SSH-2.0-OpenSSH_9.2\r\n"), whole, transfer.Temporary},
		{"huge header", raw("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n"), whole, transfer.Temporary},
		{"two lengths", raw("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"), whole, transfer.Temporary},
		{"503", raw("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"), whole, transfer.Temporary},
		{"410", raw("HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n"), whole, transfer.NotFound},
		{"401", raw("HTTP/1.1 401 Who\r\nContent-Length: 0\r\n\r\n"), whole, transfer.Forbidden},
		{"304 unasked", raw("HTTP/1.1 304 Same\r\n\r\n"), whole, transfer.Temporary},
		{"206 unasked", raw("HTTP/1.1 206 Part\r\nContent-Length: 1\r\nContent-Range: bytes 0-0/9\r\n\r\na"), whole, transfer.Temporary},
		{"range ignored", raw("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), part, transfer.Range},
		{"another range", raw("HTTP/1.1 206 Part\r\nContent-Length: 5\r\nContent-Range: bytes 0-4/99\r\n\r\nhello"), part, transfer.Range},
		{"a shorter range", raw("HTTP/1.1 206 Part\r\nContent-Length: 4\r\nContent-Range: bytes 10-13/99\r\n\r\nhell"), part, transfer.Range},
		{"a range that lies", raw("HTTP/1.1 206 Part\r\nContent-Length: 9\r\nContent-Range: bytes 10-14/99\r\n\r\nhellohell"), part, transfer.Range},
		{"no range named", raw("HTTP/1.1 206 Part\r\nContent-Length: 5\r\n\r\nhello"), part, transfer.Range},
		{"several ranges", raw("HTTP/1.1 206 Part\r\nContent-Length: 5\r\nContent-Type: multipart/byteranges; boundary=x\r\n\r\nhello"), part, transfer.Range},
		{"chunked range too long", raw("HTTP/1.1 206 Part\r\nTransfer-Encoding: chunked\r\nContent-Range: bytes 10-14/99\r\n\r\n6\r\nhello!\r\n0\r\n\r\n"), part, transfer.Temporary},
		{"416", raw("HTTP/1.1 416 No\r\nContent-Length: 0\r\n\r\n"), part, transfer.Range},
		{"another state", raw("HTTP/1.1 200 OK\r\nETag: \"two\"\r\nContent-Length: 1\r\n\r\na"), seen, transfer.Changed},
		{"412", raw("HTTP/1.1 412 No\r\nContent-Length: 0\r\n\r\n"), seen, transfer.Changed},
		{"redirect to a file", redirectTo("file:///etc/passwd"), whole, transfer.Refused},
		{"redirect to ftp", redirectTo("ftp://127.0.0.1/x"), whole, transfer.Refused},
		{"redirect to nothing", redirectTo(""), whole, transfer.Refused},
		{"redirect for ever", redirectTo("/again"), whole, transfer.Refused},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.r.URL = server(t, c.answer).URL + "/x"
			data, err := get(t, newHTTP(t, transfer.HTTPOptions{}), c.r)
			if err == nil || transfer.ClassOf(err) != c.class {
				t.Errorf("got %.20q, %v of class %v; want class %v", data, err, transfer.ClassOf(err), c.class)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	s := server(t, raw("HTTP/1.1 429 Slow\r\nRetry-After: 17\r\nContent-Length: 0\r\n\r\n"))
	_, err := get(t, newHTTP(t, transfer.HTTPOptions{}), transfer.Whole(s.URL))
	var e *transfer.Error
	if !errors.As(err, &e) || e.Status != 429 || e.Class != transfer.Temporary || e.RetryAfter != 17*time.Second {
		t.Errorf("got %+v", err)
	}
}

// A body that comes compressed though nobody asked is what the file is: its sum was announced.
func TestCompressedAnywayIsNotDecoded(t *testing.T) {
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Accept-Encoding"); got != "identity" {
			t.Errorf("Accept-Encoding is %q", got)
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		fmt.Fprint(z, "hello")
		z.Close()
	})
	data, err := get(t, newHTTP(t, transfer.HTTPOptions{}), transfer.Whole(s.URL))
	if err != nil || len(data) < 2 || data[0] != 0x1f || data[1] != 0x8b {
		t.Errorf("got %q, %v", data, err)
	}
}

// An endless body is the caller's to end; closing it must not wait for its end.
func TestEndlessBodyCanBeClosed(t *testing.T) {
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		buf := make([]byte, 1<<16)
		for {
			if _, err := w.Write(buf); err != nil {
				return
			}
		}
	})
	if data, err := get(t, newHTTP(t, transfer.HTTPOptions{}), transfer.Whole(s.URL)); err != nil || len(data) != 1<<20 {
		t.Errorf("got %d bytes, %v", len(data), err)
	}
}

func echoAuth(w http.ResponseWriter, r *http.Request) {
	fmt.Fprint(w, r.Header.Get("Authorization"))
}

func TestCredentialsGoToTheirHostOnly(t *testing.T) {
	other := server(t, echoAuth)
	first := server(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other.URL, http.StatusFound)
		case "/here":
			http.Redirect(w, r, "/x", http.StatusFound)
		default:
			echoAuth(w, r)
		}
	})
	bearer := ""
	g := newHTTP(t, transfer.HTTPOptions{Credentials: func(u *url.URL) (string, string, string) {
		return "bob", "s3cret", bearer // for every host: even so none may go to the second
	}})
	for path, want := range map[string]string{"/": "Basic Ym9iOnMzY3JldA==", "/here": "Basic Ym9iOnMzY3JldA==", "/away": ""} {
		if got, err := get(t, g, transfer.Whole(first.URL+path)); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v", path, got, err)
		}
	}
	bearer = "token"
	for path, want := range map[string]string{"/": "Bearer token", "/here": "Bearer token", "/away": ""} {
		if got, err := get(t, g, transfer.Whole(first.URL+path)); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v", path, got, err)
		}
	}
}

func TestHostsNotAllowed(t *testing.T) {
	s := server(t, echoAuth)
	away := server(t, redirectTo(strings.Replace(s.URL, "127.0.0.1", "localhost", 1)))
	g := newHTTP(t, transfer.HTTPOptions{AllowHost: func(h string) bool { return h == "127.0.0.1" }})
	if _, err := get(t, g, transfer.Whole(s.URL)); err != nil {
		t.Error(err)
	}
	_, err := get(t, g, transfer.Whole(away.URL))
	if transfer.ClassOf(err) != transfer.Refused || !strings.Contains(err.Error(), `"localhost" is not allowed`) {
		t.Errorf("redirected to a host not allowed: %v", err)
	}
}

func TestFromHTTPSNeverToHTTP(t *testing.T) {
	plain := server(t, echoAuth)
	s := httptest.NewUnstartedServer(redirectTo(plain.URL))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains of the client that refuses its certificate
	s.StartTLS()
	t.Cleanup(s.Close)
	_, err := get(t, newHTTP(t, transfer.HTTPOptions{TLS: transfer.TLS{Rigour: transfer.TLSLax}}), transfer.Whole(s.URL))
	if transfer.ClassOf(err) != transfer.Refused {
		t.Errorf("got %v", err)
	}
	if _, err = get(t, newHTTP(t, transfer.HTTPOptions{}), transfer.Whole(s.URL)); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown certificate: %v", err)
	}
}

func TestNoSecretInErrors(t *testing.T) {
	g := newHTTP(t, transfer.HTTPOptions{})
	for _, u := range []string{
		"http://bob:s3cret@127.0.0.1:1/x?token=s3cret", "http://bob:s3cret/@host/x", "http://bob:s3cret@[::1/x",
	} {
		_, err := get(t, g, transfer.Whole(u))
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", u, err)
		}
	}
}

func TestSetRefusesOtherSchemes(t *testing.T) {
	set := transfer.Set{"file": transfer.NewFile(transfer.FileOptions{})}
	defer set.Close()
	for _, u := range []string{"gopher://x/y", "", "nothing", "http://x/"} {
		if _, err := set.Get(t.Context(), transfer.Whole(u)); transfer.ClassOf(err) != transfer.Refused {
			t.Errorf("%q: %v", u, err)
		}
	}
}

func TestFileReadsRegularFilesBelowItsBaseOnly(t *testing.T) {
	base := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(base, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"device": "/dev/zero", "out": "/etc/passwd", "up": "../../../../../../etc/passwd"} {
		if err := os.Symlink(to, filepath.Join(base, name)); err != nil {
			t.Fatal(err)
		}
	}
	g := transfer.NewFile(transfer.FileOptions{BaseDir: base})
	defer g.Close()
	for _, p := range []string{base + "/fifo", base + "/device", base + "/out", base + "/up", "/etc/passwd", base + "/../x", base} {
		body, err := g.Get(t.Context(), transfer.Whole(transfer.FileURL(p)))
		if err == nil {
			body.Close()
		}
		if transfer.ClassOf(err) != transfer.Refused {
			t.Errorf("%s: %v of class %v", p, err, transfer.ClassOf(err))
		}
	}
	unbound := transfer.NewFile(transfer.FileOptions{})
	for _, p := range []string{"/dev/zero", base + "/fifo"} {
		if _, err := unbound.Get(t.Context(), transfer.Whole(transfer.FileURL(p))); transfer.ClassOf(err) != transfer.Refused {
			t.Errorf("%s: %v", p, err)
		}
	}
}

// The time-out is of each stall and not of the whole: a slow server is waited for as long as it sends something, and
// no longer when it sends nothing.
func TestSlowIsNotStalled(t *testing.T) {
	const timeout = time.Second
	for _, c := range []struct {
		bytes int
		class transfer.Class
		works bool
	}{{40, 0, true}, {5, transfer.Temporary, false}} {
		s := server(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "40")
			tick := time.NewTicker(timeout / 20)
			defer tick.Stop()
			for range c.bytes {
				_, _ = w.Write([]byte("x"))
				w.(http.Flusher).Flush()
				<-tick.C
			}
			if !c.works {
				<-r.Context().Done()
			}
		})
		data, err := get(t, newHTTP(t, transfer.HTTPOptions{Timeout: timeout}), transfer.Whole(s.URL))
		if c.works != (err == nil) || err == nil && len(data) != c.bytes || transfer.ClassOf(err) != c.class {
			t.Errorf("%d bytes: got %q, %v", c.bytes, data, err)
		}
	}
}
