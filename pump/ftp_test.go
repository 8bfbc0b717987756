package pump

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"srpump/post"
	"srpump/pump/config"
	"srpump/test/pki"
	"srpump/test/vsftpd"
)

// credentials writes credentials.conf.
func (h *house) credentials(lines ...string) {
	h.t.Helper()
	path := filepath.Join(h.dir, ".config/sarra/credentials.conf")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// sr_subscribe(1): files are fetched over FTP and FTP with TLS, with what
// credentials.conf says of the server and not with what the announcement says.
func TestSubscribeOverFTP(t *testing.T) {
	authority := pki.NewAuthority(t)
	server := authority.Server(t, "127.0.0.1", time.Now().Add(time.Hour))
	for scheme, o := range map[string]vsftpd.Options{
		"ftp":  {Password: "s3cret"},
		"ftps": {Password: "s3cret", Cert: server.Cert, Key: server.Key, OnlyTLS: true},
	} {
		t.Run(scheme, func(t *testing.T) {
			h := newHouse(t)
			src := t.TempDir()
			addr := vsftpd.Start(t, src, o)
			h.credentials(scheme + "://ftp:s3cret@" + addr + "/ prot_p,ca_file=" + authority.File)
			if o.Cert == "" {
				h.credentials(scheme + "://ftp:s3cret@" + addr + "/")
			}
			if err := os.Mkdir(filepath.Join(src, "sub"), 0o755); err != nil {
				t.Fatal(err)
			}
			content := strings.Repeat("hello world\n", 10_000)
			if err := os.WriteFile(filepath.Join(src, "sub/a b#c.txt"), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
			h.run(config.Subscribe, "-exchange", "xin", "-directory", h.dir+"/got", "-mirror", "-tls_rigour", "strict")
			h.post("xin", announced(scheme+"://ftp@"+addr+"/", "sub/a b#c.txt", content, 1700000000))
			h.until("the file is there", func() bool { return h.content("got/sub/a b#c.txt") == content })
			if strings.Contains(h.log.String(), "s3cret") {
				t.Error("the password is in the log")
			}
		})
	}
}

// A server that is not in credentials.conf gets no password of another, and is asked only when allow_hosts has it.
func TestFTPServersAreTrustedByName(t *testing.T) {
	h := newHouse(t)
	src := t.TempDir()
	if err := os.WriteFile(filepath.Join(src, "a"), []byte("hello"), 0o644); err != nil {
		t.Fatal(err)
	}
	addr := vsftpd.Start(t, src, vsftpd.Options{Password: "s3cret"})
	h.credentials("ftp://ftp:s3cret@" + strings.Replace(addr, "127.0.0.1", "localhost", 1) + "/")
	h.run(config.Subscribe, "-exchange", "xin", "-directory", h.dir+"/got", "-allow_hosts", "127.0.0.1", "-attempts", "1")
	h.post("xin", announced("ftp://ftp@"+addr+"/", "a", "hello", 1700000000), announced("ftp://localhost/", "b", "hello", 1700000001))
	h.until("the user is refused", func() bool { return strings.Contains(h.log.String(), `no password of \"ftp\" there`) })
	h.post("xin", announced("ftp://"+addr+"/", "c", "hello", 1700000002)) // as anonymous, for whom a password is made up
	h.until("the login is refused", func() bool { return strings.Contains(h.log.String(), `refuses the login of \"anonymous\"`) })
	h.until("the host is refused", func() bool { return strings.Contains(h.log.String(), "not allowed") })
}

// sr_sender(1): files are delivered over FTP under a temporary name, with their time, and removed there when they are
// removed here.
func TestSenderOverFTP(t *testing.T) {
	h := newHouse(t)
	there := t.TempDir()
	addr := vsftpd.Start(t, there, vsftpd.Options{Password: "s3cret"})
	h.credentials("ftp://ftp:s3cret@" + addr + "/")
	h.write("pub/sub/a b#c.txt", "hello world\n")
	_, stop := h.run(config.Sender, "-base_dir", h.dir+"/pub", "-destination", "ftp://ftp@"+addr, "-directory", "in", "-mirror")
	a := announced("http://nobody.example/", "sub/a b#c.txt", "hello world\n", 1700000000)
	a.Headers = map[string]any{"mtime": "20200102030405"}
	h.post("xpublic", a)
	path := filepath.Join(there, "in/sub/a b#c.txt")
	h.until("it is delivered", func() bool { b, err := os.ReadFile(path); return err == nil && string(b) == "hello world\n" })
	gone := announced("http://nobody.example/", "sub/a b#c.txt", "", 1700000001)
	gone.Sum = post.OfRemoval("a b#c.txt")
	if fi, err := os.Stat(path); err != nil || !fi.ModTime().Equal(time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)) {
		t.Errorf("%v, %v", fi, err)
	}
	h.post("xpublic", gone)
	h.until("it is removed", func() bool { _, err := os.Stat(path); return os.IsNotExist(err) })
	stop()
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 0 {
		t.Errorf("%v are left, %v", left, err)
	}
	if strings.Contains(h.log.String(), "s3cret") {
		t.Error("the password is in the log")
	}
}

// sr_sender(1): with ftps both commands and bytes are in TLS, to servers of authorities that credentials.conf
// names; blocks and whole files go the same way. A server of another authority gets nothing.
func TestSenderOverFTPS(t *testing.T) {
	h := newHouse(t)
	there := t.TempDir()
	authority, other := pki.NewAuthority(t), pki.NewAuthority(t)
	server := authority.Server(t, "127.0.0.1", time.Now().Add(time.Hour))
	addr := vsftpd.Start(t, there, vsftpd.Options{Password: "s3cret", Cert: server.Cert, Key: server.Key, OnlyTLS: true})
	trusting := func(a *pki.Authority) { h.credentials("ftps://ftp:s3cret@" + addr + "/ prot_p,ca_file=" + a.File) }
	content := noise(2500, 7)
	h.write("pub/whole", "hello world\n")
	h.write("pub/cut", string(content))
	args := []string{"-base_dir", h.dir + "/pub", "-destination", "ftps://ftp@" + addr, "-directory", "in", "-mirror", "-attempts", "1", "-tls_rigour", "strict"}
	trusting(other)
	f, stop := h.run(config.Sender, args...)
	h.post("xpublic", append(cutUp("http://nobody.example/", "cut", content, 1000, 1700000000), h.of("whole", "hello world\n", 0))...)
	h.until("the stranger is refused", func() bool { return f.Counters.Retried.Load() >= 2 })
	stop()
	trusting(authority)
	f, stop = h.run(config.Sender, args...)
	h.until("both are delivered", func() bool { return f.Counters.Fetched.Load() == 2 })
	stop()
	p := partner{dir: filepath.Join(there, "in")}
	if p.there(t) != "cut="+string(content)+" whole=hello world\n" {
		t.Errorf("there is %.80q", p.there(t))
	}
	if strings.Contains(h.log.String(), "s3cret") {
		t.Error("the password is in the log")
	}
}
