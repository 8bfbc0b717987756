package sftp_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	pkgsftp "github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"srpump/pump/transfer"
	"srpump/pump/transfer/sftp"
)

// stranger is a server of another make, and how to reach it.
type stranger struct {
	sftp.Options
	addr string
	most *atomic.Int32 // sessions of a connection; 0: any number
}

// hostile runs a server that OpenSSH would not be: set says who may log in, serve what a session
// does; where nil, everybody, and SFTP of dir.
func hostile(t *testing.T, dir string, set func(*ssh.ServerConfig), serve func(ssh.Channel)) stranger {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	config := &ssh.ServerConfig{NoClientAuth: set == nil}
	if set != nil {
		set(config)
	}
	config.AddHostKey(key)
	if serve == nil {
		serve = func(ch ssh.Channel) {
			s, err := pkgsftp.NewServer(ch, pkgsftp.WithServerWorkingDirectory(dir))
			if err == nil {
				_ = s.Serve()
			}
		}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	most := new(atomic.Int32)
	t.Cleanup(func() { ln.Close(); wg.Wait() })
	wg.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { sessions(conn, config, serve, most) })
		}
	})
	s := stranger{addr: ln.Addr().String(), most: most}
	s.KnownHosts = []string{filepath.Join(t.TempDir(), "known_hosts")}
	s.Home, s.Agent, s.Timeout = "/nonexistent", "/nonexistent", 20*time.Second
	s.Credentials = func(*url.URL) (string, string, string) { return "bob", "", "" }
	write(t, s.KnownHosts[0], knownhosts.Line([]string{s.addr}, key.PublicKey())+"\n")
	return s
}

func sessions(conn net.Conn, config *ssh.ServerConfig, serve func(ssh.Channel), most *atomic.Int32) {
	defer conn.Close()
	_, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	n := int32(0)
	for c := range channels {
		if n++; most.Load() > 0 && n > most.Load() {
			_ = c.Reject(ssh.Prohibited, "open failed") // as sshd says it
			continue
		}
		ch, asked, err := c.Accept()
		if err != nil {
			return
		}
		go func() {
			for r := range asked {
				_ = r.Reply(r.Type == "subsystem", nil)
			}
		}()
		go func() {
			serve(ch)
			ch.Close()
		}()
	}
}

// liar answers with names, sizes and bytes that do not go together.
type liar struct {
	names []string
	size  int64 // of every file, as it says
	data  int   // bytes every file really has
}

func (l *liar) handlers(ch ssh.Channel) {
	s := pkgsftp.NewRequestServer(ch, pkgsftp.Handlers{FileGet: l, FileList: l, FilePut: pkgsftp.InMemHandler().FilePut, FileCmd: pkgsftp.InMemHandler().FileCmd})
	_ = s.Serve()
}

type said struct {
	name string
	size int64
	dir  bool
}

func (s said) Name() string { return s.name }
func (s said) Size() int64  { return s.size }
func (s said) Mode() fs.FileMode {
	if s.dir {
		return fs.ModeDir | 0o755
	}
	return 0o644
}
func (s said) ModTime() time.Time { return time.Unix(1e9, 0) }
func (s said) IsDir() bool        { return s.dir }
func (s said) Sys() any           { return nil }

type listing []fs.FileInfo

func (l listing) ListAt(to []fs.FileInfo, off int64) (int, error) {
	if off >= int64(len(l)) {
		return 0, io.EOF
	}
	return copy(to, l[off:]), nil
}

func (l *liar) Filelist(r *pkgsftp.Request) (pkgsftp.ListerAt, error) {
	if r.Method != "List" {
		return listing{said{name: "file", size: l.size}}, nil
	}
	var all listing
	for _, n := range l.names {
		all = append(all, said{name: n, size: l.size})
	}
	return all, nil
}

func (l *liar) Fileread(*pkgsftp.Request) (io.ReaderAt, error) {
	return short(l.data), nil
}

// short is so many zeros.
type short int

func (s short) ReadAt(p []byte, off int64) (int, error) {
	n := max(0, min(len(p), int(s)-int(off)))
	clear(p[:n])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// What is listed is never a way out of the directory.
func TestForeignNames(t *testing.T) {
	l := &liar{names: []string{"good", "", ".", "..", "/", "a/..", "../up", "/etc/passwd", "nul\x00", "down/there"}}
	s := hostile(t, "", nil, l.handlers)
	g := sftp.New(s.Options)
	defer g.Close()
	got := make(map[string]bool)
	err := g.List(t.Context(), "sftp://"+s.addr+"/", func(e transfer.Entry) error {
		got[e.Name] = true
		return nil
	})
	if err != nil || !got["good"] {
		t.Errorf("got %v, %v", got, err)
	}
	for name := range got {
		if name == "" || name == "." || name == ".." || name != filepath.Base(name) || name == "nul\x00" {
			t.Errorf("%q is listed", name)
		}
	}
}

// A file that has fewer bytes than the server says is never a whole one, wherever it ends.
func TestFewerBytesThanSaid(t *testing.T) {
	for _, c := range []struct {
		size int64
		data int
	}{{10, 0}, {10, 9}, {100_000, 99_999}, {100_000, 32 << 10}, {5 << 20, 1 << 20}, {5 << 20, 5<<20 - 1}} {
		s := hostile(t, "", nil, (&liar{size: c.size, data: c.data}).handlers)
		g := sftp.New(s.Options)
		body, err := g.Get(t.Context(), transfer.Whole("sftp://"+s.addr+"/file"))
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, body)
		if transfer.ClassOf(err) != transfer.Temporary || err == nil || n > int64(c.data) {
			t.Errorf("%d of %d bytes: got %d, %v", c.data, c.size, n, err)
		}
		body.Close()
		g.Close()
	}
}

// One that has more gives what it said it has.
func TestMoreBytesThanSaid(t *testing.T) {
	s := hostile(t, "", nil, (&liar{size: 100_000, data: 5 << 20}).handlers)
	g := sftp.New(s.Options)
	defer g.Close()
	body, err := g.Get(t.Context(), transfer.Whole("sftp://"+s.addr+"/file"))
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if n, err := io.Copy(io.Discard, body); n != 100_000 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
}

// A server without the extensions of OpenSSH: small packets, a rename in two steps.
func TestServerOfAnotherMake(t *testing.T) {
	dir := t.TempDir()
	s := hostile(t, dir, nil, nil)
	g := sftp.New(s.Options)
	defer g.Close()
	write(t, filepath.Join(dir, "from"), "new")
	write(t, filepath.Join(dir, "to"), "old")
	at := func(name string) string { return "sftp://" + s.addr + "/~/" + name }
	if err := g.Rename(t.Context(), at("from"), at("to")); err != nil {
		t.Error(err)
	}
	if data, _ := os.ReadFile(filepath.Join(dir, "to")); string(data) != "new" {
		t.Errorf("got %q", data)
	}
}

// A server that is no SFTP server, or none at all, is an error in time.
func TestNoSFTP(t *testing.T) {
	for name, serve := range map[string]func(ssh.Channel){
		"nonsense": func(ch ssh.Channel) { _, _ = io.WriteString(ch, "Welcome to this server, stranger!\r\n") },
		"silence":  func(ch ssh.Channel) { _, _ = io.Copy(io.Discard, ch) },
		"an end":   func(ssh.Channel) {},
	} {
		s := hostile(t, "", nil, serve)
		s.Timeout = 300 * time.Millisecond
		err := try(t, s.Options, s.addr)
		if name == "silence" && !strings.Contains(fmt.Sprint(err), "no reply from the server within 300ms") {
			t.Errorf("got %v", err)
		}
		if err == nil || transfer.ClassOf(err) != transfer.Temporary {
			t.Errorf("%s: got %v of class %v", name, err, transfer.ClassOf(err))
		}
	}
}

// A pipe would hang whoever opens it, and with it all that share the connection.
func TestSpecialFilesAreNotOpened(t *testing.T) {
	s := serving(t)
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	g := sftp.New(options(s))
	defer g.Close()
	for _, path := range []string{dir + "/fifo", "/dev/zero", dir} {
		_, err := g.Get(t.Context(), transfer.Whole("sftp://"+s.Addr+path))
		if transfer.ClassOf(err) != transfer.Refused {
			t.Errorf("%s: got %v", path, err)
		}
	}
}
