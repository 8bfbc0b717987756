package ftp_test

import (
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"srpump/pump/transfer"
	"srpump/pump/transfer/ftp"
	"srpump/pump/transfer/transfertest"
	"srpump/test/pki"
	"srpump/test/vsftpd"
)

// as logs in as ftp with a password, in a manner.
func as(password string, l ftp.Login) func(*url.URL) (string, string, ftp.Login) {
	return func(*url.URL) (string, string, ftp.Login) { return "ftp", password, l }
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func send(t *testing.T, w transfer.Writer, u, content string) error {
	t.Helper()
	_, err := w.Put(t.Context(), transfer.Put{URL: u, From: strings.NewReader(content), Size: int64(len(content))})
	return err
}

// sr_credentials(5): user and password, and what is asked of the connection.
func TestLogins(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a", "hello")
	authority := pki.NewAuthority(t)
	cert := authority.Server(t, "127.0.0.1", time.Now().Add(time.Hour))
	plain := vsftpd.Start(t, dir, vsftpd.Options{Password: "s3cret"})
	only := vsftpd.Start(t, dir, vsftpd.Options{Password: "s3cret", Cert: cert.Cert, Key: cert.Key, OnlyTLS: true})
	ca := transfer.TLS{Files: func(string, string) transfer.TLSFiles { return transfer.TLSFiles{CA: authority.File} }}
	const works = -1
	for _, c := range []struct {
		url, password string
		login         ftp.Login
		class         transfer.Class
	}{
		{"ftp://" + plain, "s3cret", ftp.Login{}, works},
		{"ftp://" + plain, "wrong", ftp.Login{}, transfer.Forbidden},
		{"ftp://" + plain, "s3cret", ftp.Login{TLS: true}, transfer.Refused},
		{"ftps://" + plain, "s3cret", ftp.Login{}, transfer.Refused},
		{"ftp://" + only, "s3cret", ftp.Login{}, transfer.Forbidden},
		{"ftp://" + only, "s3cret", ftp.Login{TLS: true}, works},
		{"ftp://" + only, "s3cret", ftp.Login{ProtP: true}, works},
		{"ftps://" + only, "s3cret", ftp.Login{}, works},
		{"ftps://" + only, "wrong", ftp.Login{}, transfer.Forbidden},
	} {
		g := client(t, ftp.Options{Credentials: as(c.password, c.login), TLS: ca.Config})
		data, err := get(t, g, transfer.Whole(c.url+"/a"))
		if c.class == works {
			if err != nil || data != "hello" {
				t.Errorf("%s %+v: got %q, %v", c.url, c.login, data, err)
			}
		} else if err == nil || transfer.ClassOf(err) != c.class || strings.Contains(err.Error(), c.password) {
			t.Errorf("%s %+v: got %v of class %v, want class %v", c.url, c.login, err, transfer.ClassOf(err), c.class)
		}
	}
}

func TestServersProveWhoTheyAre(t *testing.T) {
	dir, authority := t.TempDir(), pki.NewAuthority(t)
	write(t, dir, "a", "hello")
	soon, past := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	for _, c := range []struct {
		cert  pki.Pair
		files transfer.TLSFiles
		tells string // of the refusal
	}{
		{authority.Server(t, "127.0.0.1", soon), transfer.TLSFiles{}, "ca_file="},
		{authority.Server(t, "127.0.0.1", past), transfer.TLSFiles{CA: authority.File}, "new certificate"},
		{authority.Server(t, "other.example", soon), transfer.TLSFiles{CA: authority.File}, "name of its certificate"},
	} {
		addr := vsftpd.Start(t, dir, vsftpd.Options{Cert: c.cert.Cert, Key: c.cert.Key})
		conf := transfer.TLS{Files: func(string, string) transfer.TLSFiles { return c.files }}
		_, err := get(t, client(t, ftp.Options{TLS: conf.Config}), transfer.Whole("ftps://"+addr+"/a"))
		if err == nil || !strings.Contains(err.Error(), c.tells) {
			t.Errorf("got %v, want %q", err, c.tells)
		}
		if strings.Contains(c.tells, "new") {
			continue // no session of an expired certificate is resumed, which this server asks for
		}
		conf.Rigour = transfer.TLSLax
		if data, err := get(t, client(t, ftp.Options{TLS: conf.Config}), transfer.Whole("ftps://"+addr+"/a")); err != nil || data != "hello" {
			t.Errorf("lax: got %q, %v", data, err)
		}
	}
}

// The suites over TLS, with a server that wants the session resumed for data, asked for and from the first byte.
func TestVsftpdWithTLS(t *testing.T) {
	authority := pki.NewAuthority(t)
	cert := authority.Server(t, "127.0.0.90", time.Now().Add(time.Hour))
	ca := transfer.TLS{Files: func(string, string) transfer.TLSFiles { return transfer.TLSFiles{CA: authority.File} }}
	for name, implicit := range map[string]string{"explicit": "", "implicit": "127.0.0.90:990"} {
		t.Run(name, func(t *testing.T) {
			cert := cert
			if implicit == "" {
				cert = authority.Server(t, "127.0.0.1", time.Now().Add(time.Hour))
			} else if os.Getuid() != 0 {
				t.Skip("port 990 is for root")
			}
			for part, run := range suites() {
				if implicit != "" && part != "get" {
					continue // but for the first byte it is the same
				}
				t.Run(part, func(t *testing.T) {
					dir := t.TempDir()
					addr := vsftpd.Start(t, dir, vsftpd.Options{Cert: cert.Cert, Key: cert.Key, OnlyTLS: true, Implicit: implicit})
					run(t, transfertest.Harness{
						Dir:    dir,
						URL:    func(_, name string) string { return "ftps://" + addr + "/" + url.PathEscape(name) },
						Cannot: lineEnds,
						New: func(d time.Duration) transfer.Getter {
							return ftp.New(ftp.Options{Workers: 8, Timeout: d, TLS: ca.Config})
						},
					})
				})
			}
		})
	}
}

// Active: the server connects to us, by EPRT and by PORT.
func TestActive(t *testing.T) {
	dir := t.TempDir()
	addr := vsftpd.Start(t, dir, vsftpd.Options{Active: true})
	g := client(t, ftp.Options{Credentials: as("x", ftp.Login{Active: true})})
	u := "ftp://" + addr + "/a"
	if err := send(t, g, u, "hello"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if data, err := get(t, g, transfer.Whole(u)); err != nil || data != "hello" {
			t.Errorf("got %q, %v", data, err)
		}
	}
	n := 0
	err := g.List(t.Context(), "ftp://"+addr, func(transfer.Entry) error { n++; return nil })
	if err != nil || n != 1 {
		t.Errorf("%d names, %v", n, err)
	}
	if _, err := get(t, g, transfer.Whole(u+"b")); transfer.ClassOf(err) != transfer.NotFound {
		t.Error(err)
	}
}

// A server that never connects is no reason to wait for ever.
func TestActiveWithoutServer(t *testing.T) {
	f := (&fake{content: "hello", on: map[string]func(*link, string){"RETR": func(c *link, _ string) { c.say("150 soon") }}}).start(t)
	g := client(t, ftp.Options{Timeout: 100 * time.Millisecond, Credentials: as("x", ftp.Login{Active: true})})
	_, err := get(t, g, transfer.Whole(f.url("file")))
	if err == nil || transfer.ClassOf(err) != transfer.Temporary {
		t.Errorf("got %v", err)
	}
}

// ascii: lines end in CR LF on the way and in LF here; parts and sizes have no meaning.
func TestASCII(t *testing.T) {
	f := (&fake{content: "one\r\ntwo\rthree\r\n\r\nfour\r"}).start(t)
	g := client(t, ftp.Options{Credentials: as("x", ftp.Login{ASCII: true})})
	data, err := get(t, g, transfer.Whole(f.url("file")))
	if err != nil || data != "one\ntwo\rthree\n\nfour\r" {
		t.Errorf("got %q, %v", data, err)
	}
	_, err = get(t, g, transfer.Request{URL: f.url("file"), Offset: 1, Length: 2})
	wantClass(t, err, transfer.Range)
	if !strings.Contains(f.commands(), "TYPE A") || strings.Contains(f.commands(), "SIZE") {
		t.Error(f.commands())
	}
	if err := send(t, g, f.url("file"), "one\ntwo\n"); err != nil || f.stored != "one\r\ntwo\r\n" {
		t.Errorf("stored %q, %v", f.stored, err)
	}
}

// Blocks are put where they belong when the first comes first; in a larger file the first cannot be replaced.
func TestPutBlocks(t *testing.T) {
	dir := t.TempDir()
	u := "ftp://" + vsftpd.Start(t, dir, vsftpd.Options{}) + "/a"
	g := client(t, ftp.Options{})
	data := strings.Repeat("0123456789", 30_000)
	put := func(off, n int64) error {
		_, err := g.Put(t.Context(), transfer.Put{URL: u, From: io.NewSectionReader(strings.NewReader(data), off, n), Size: n, Offset: off, Keep: true})
		return err
	}
	for off := int64(0); off < 300_000; off += 100_000 {
		if err := put(off, 100_000); err != nil {
			t.Fatal(err)
		}
	}
	if err := put(150_000, 10); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "a")); err != nil || string(got) != data {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	wantClass(t, put(0, 10), transfer.Unsupported)
}

// The server's size is compared with what was sent.
func TestPutIsVerified(t *testing.T) {
	f := (&fake{content: "four"}).start(t) // what it says it holds
	if err := send(t, client(t, ftp.Options{}), f.url("file"), "four"); err != nil {
		t.Error(err)
	}
	if err := send(t, client(t, ftp.Options{}), f.url("file"), "longer"); transfer.ClassOf(err) != transfer.Temporary || err == nil {
		t.Errorf("got %v", err)
	}
}

// SITE CHMOD and MFMT where the server has them; a server that has not is Unsupported.
func TestSetAsksWhatTheServerHas(t *testing.T) {
	when := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	f := (&fake{features: " MFMT\r\n", on: replies("MFMT", "213 set")}).start(t)
	if err := client(t, ftp.Options{}).Set(t.Context(), f.url("a b"), transfer.Attributes{Mode: 0o640, ModTime: when}); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"SITE CHMOD 0640 /a b", "MFMT 20200102030405 /a b"} {
		if !strings.Contains(f.commands(), want) {
			t.Errorf("%q was not said", want)
		}
	}
	f = (&fake{on: replies("SITE", "502 no", "MDTM", "501 no")}).start(t)
	g := client(t, ftp.Options{})
	wantClass(t, g.Set(t.Context(), f.url("a"), transfer.Attributes{Mode: 0o640}), transfer.Unsupported)
	wantClass(t, g.Set(t.Context(), f.url("a"), transfer.Attributes{ModTime: when}), transfer.Unsupported)
}

// Where the server does not rename over a file, that file is removed first; the one to rename never is.
func TestRenameOverAFile(t *testing.T) {
	f := &fake{content: "x"}
	removed := false
	f.on = map[string]func(*link, string){
		"DELE": func(c *link, _ string) { removed = true; c.say("250 ok") },
		"RNTO": func(c *link, _ string) {
			if !removed {
				c.say("553 it exists")
				return
			}
			c.say("250 ok")
		},
	}
	f.start(t)
	if err := client(t, ftp.Options{}).Rename(t.Context(), f.url("from"), f.url("to")); err != nil || !removed {
		t.Errorf("got %v", err)
	}
	if strings.Contains(f.commands(), "DELE /from") {
		t.Error(f.commands())
	}
}

// Idle connections are asked whether they live, and given up after a while.
func TestIdleConnections(t *testing.T) {
	f := (&fake{content: "hello", on: map[string]func(*link, string){"NOOP": func(c *link, _ string) { c.conn.Close() }}}).start(t)
	g := client(t, ftp.Options{})
	fetch := func() {
		t.Helper()
		if data, err := get(t, g, transfer.Whole(f.url("file"))); err != nil || data != "hello" {
			t.Errorf("got %q, %v", data, err)
		}
	}
	for _, want := range []int{1, 1, 2, 3} {
		fetch()
		if f.connections() != want {
			t.Errorf("%d connections, want %d", f.connections(), want)
		}
		switch want {
		case 2:
			g.Age(2 * time.Minute)
			g.Expire()
		default:
			if strings.Count(f.commands(), "RETR") == 2 {
				g.Age(10 * time.Second)
			}
		}
	}
	if n := strings.Count(f.commands(), "NOOP"); n != 1 {
		t.Errorf("%d times asked", n)
	}
}

// Paths count from the login directory, or from the root when two slashes begin them.
func TestPaths(t *testing.T) {
	f := (&fake{content: "hello", on: replies("PWD", `257 "/home/a ""b"" c" is it`)}).start(t)
	g := client(t, ftp.Options{})
	for path, want := range map[string]string{
		"x/-rf": `RETR /home/a "b" c/x/-rf`, "/abs/x": "RETR /abs/x", "%2Fabs/y": "RETR /abs/y", "%20%20lead": `RETR /home/a "b" c/  lead`,
	} {
		if _, err := get(t, g, transfer.Whole(f.url(path))); err != nil || !strings.Contains(f.commands()+"\n", want+"\n") {
			t.Errorf("%s: %v in %s", path, err, f.commands())
		}
	}
}
