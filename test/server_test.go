package test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"srpump/pump/broker"
)

// A hostileServer answers "hello world\n" to every path but those that name a vice.
type hostileServer struct {
	*httptest.Server
	stop  chan struct{}
	mu    sync.Mutex
	auths []string // headers Authorization of /redirected

	stalled int  // requests that were left hanging
	healed  bool // no more
}

func newHostileServer(t testing.TB) *hostileServer {
	s := &hostileServer{stop: make(chan struct{})}
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() { close(s.stop); s.Close() })
	return s
}

func (s *hostileServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const text = "hello world\n"
	switch strings.TrimPrefix(r.URL.Path, "/") {
	case "truncate":
		raw(w, "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nhello")
	case "lie-long":
		raw(w, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"+text)
	case "lie-short":
		raw(w, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"+text)
	case "endless":
		for {
			if _, err := io.WriteString(w, strings.Repeat("x", 1<<16)); err != nil {
				return
			}
		}
	case "other":
		io.WriteString(w, "jello world\n")
	case "error-page":
		io.WriteString(w, "<html>temporarily unavailable</html>")
	case "to-file":
		w.Header().Set("Location", "file:///etc/passwd")
		w.WriteHeader(http.StatusFound)
	case "to-itself":
		http.Redirect(w, r, "/to-itself", http.StatusFound)
	case "stall":
		if s.hang() {
			io.WriteString(w, text)
			return
		}
		w.Header().Set("Content-Length", "12")
		io.WriteString(w, "hello")
		w.(http.Flusher).Flush()
		<-s.stop
	case "missing":
		http.NotFound(w, r)
	case "garbage":
		raw(w, "\x00\x01 this is not HTTP\r\n\r\n")
	case "redirected":
		s.mu.Lock()
		s.auths = append(s.auths, r.Header.Get("Authorization"))
		s.mu.Unlock()
		io.WriteString(w, text)
	default:
		io.WriteString(w, text)
	}
}

// hang counts a request that will hang; it is true when the server was healed.
func (s *hostileServer) hang() (healed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.healed {
		s.stalled++
	}
	return s.healed
}

// hanging is how many requests were left hanging.
func (s *hostileServer) hanging() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stalled
}

// raw answers with these bytes and closes.
func raw(w http.ResponseWriter, answer string) {
	c, buf, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	fmt.Fprint(buf, answer)
	_ = buf.Flush()
	_ = c.Close()
}

// Whatever a server does: nothing wrong is ever there under the final name, each failure is
// said and kept aside, and what follows arrives.
func TestServersThatLie(t *testing.T) {
	h, s := newHost(t), newHostileServer(t)
	r := newReceiver(t, h, "sqlite://"+h.path("pump.db"), "-retry", "off", "-attempts", "1", "-timeout", "2", "-sum_mismatch", "strict")
	vices := []string{"truncate", "lie-long", "lie-short", "endless", "other", "error-page", "to-file", "to-itself", "stall", "missing", "garbage"}
	for _, v := range vices {
		r.send(t, "20261121000000.5 "+s.URL+"/ "+v+" \n", hello())
	}
	r.send(t, "20261121000000.5 "+s.URL+"/ good \n", hello())
	r.await(`fetched path=\S*/dst/good`)
	waitFor(t, "all given up", func() bool { return len(r.deadLetters(t)) >= len(vices) }, r.text)
	for _, v := range vices {
		if !r.says(`\[ERROR\] given up path=\S*` + v + ` .*error=`) {
			t.Errorf("nothing is said of %s", v)
		}
	}
	r.stop(1)
	if got := present(t, h.path("dst")); len(got) != 1 || got[0] != "good" {
		t.Errorf("in the directory: %q, only good belongs there\n%s", got, r.text())
	}
}

// A file whose sum is not the announced one is installed once two fetches agree, not before;
// what a server truncates for a while arrives when it no longer does.
func TestSumThatIsOutOfDate(t *testing.T) {
	h, s := newHost(t), newHostileServer(t)
	r := newReceiver(t, h, "sqlite://"+h.path("pump.db"))
	r.send(t, "20261121000000.5 "+s.URL+"/ other \n", hello())
	r.await("sum mismatch, fetching again")
	r.await(`kept as fetched twice`)
	r.await(`fetched path=\S*/dst/other`)
	if b, err := os.ReadFile(h.path("dst/other")); err != nil || string(b) != "jello world\n" {
		t.Errorf("%q %v", b, err)
	}
	r.stop()
}

// Credentials go to the host they are stored for, and not to where it redirects.
func TestCredentialsStayHome(t *testing.T) {
	h, thief := newHost(t), newHostileServer(t)
	var mu sync.Mutex
	var asked []string
	home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.Header.Get("Authorization"))
		mu.Unlock()
		http.Redirect(w, r, strings.Replace(thief.URL, "127.0.0.1", "localhost", 1)+"/redirected", http.StatusFound)
	}))
	t.Cleanup(home.Close)
	h.write("home/.config/sarra/credentials.conf", strings.Replace(home.URL, "http://", "http://user:verysecret@", 1)+"/\n")
	must(t, os.Chmod(h.path("home/.config/sarra/credentials.conf"), 0o600))
	r := newReceiver(t, h, "sqlite://"+h.path("pump.db"), "-retry", "off")
	r.send(t, "20261121000000.5 "+home.URL+"/ file \n", hello())
	waitFor(t, "an end", func() bool { return r.says("fetched path=") || r.says("given up") }, r.text)
	r.stop(1)
	mu.Lock()
	defer mu.Unlock()
	if len(asked) == 0 || asked[0] == "" {
		t.Error("the host itself got no credentials")
	}
	thief.mu.Lock()
	defer thief.mu.Unlock()
	for _, a := range thief.auths {
		if a != "" {
			t.Errorf("credentials went to another host: %q", a)
		}
	}
	if strings.Contains(r.text(), "verysecret") {
		t.Errorf("a password in the log:\n%s", r.text())
	}
}

// What failed is tried again by itself: nothing is lost while a server is away.
func TestRetryUntilThere(t *testing.T) {
	onBothBrokers(t, func(t *testing.T, url string) {
		h := newHost(t)
		must(t, os.Mkdir(h.path("src"), 0o755))
		base := serveDir(t, h.path("src"))
		r := newReceiver(t, h, url)
		publish(t, r.conn, broker.Publishing{Exchange: r.exchange, Key: "v02.post.x", Body: []byte("20261121000000.5 " + base + "/ late \n"), Headers: hello()})
		r.await(`\[WARNING\] retry path=\S*/dst/late`)
		r.kill()
		h.write("src/late", "hello world\n")
		again := h.start("sr_subscribe", r.cmd.Args[1:]...)
		again.await(`fetched path=\S*/dst/late`)
		again.stop()
	})
}
