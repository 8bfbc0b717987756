package ftp_test

import (
	"io"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"srpump/pump/transfer"
	"srpump/pump/transfer/ftp"
)

func get(t *testing.T, g transfer.Getter, r transfer.Request) (string, error) {
	t.Helper()
	body, err := g.Get(t.Context(), r)
	if err != nil {
		return "", err
	}
	defer body.Close()
	data, err := io.ReadAll(io.LimitReader(body, 1<<20))
	return string(data), err
}

// replies makes commands answered by a line.
func replies(pairs ...string) map[string]func(*link, string) {
	on := make(map[string]func(*link, string))
	for pair := range slices.Chunk(pairs, 2) {
		on[pair[0]] = func(c *link, _ string) { c.say("%s", pair[1]) }
	}
	return on
}

func gives(data, reply string) map[string]func(*link, string) {
	return map[string]func(*link, string){"RETR": func(c *link, _ string) { c.give(data, reply) }}
}

func TestHostileServers(t *testing.T) {
	whole, part := transfer.Whole(""), transfer.Request{Offset: 2, Length: 3}
	hangUp := func(c *link, _ string) { c.conn.Close() }
	for _, c := range []struct {
		name  string
		on    map[string]func(*link, string)
		r     transfer.Request
		class transfer.Class
	}{
		{"no FTP", replies("greet", "SSH-2.0-OpenSSH_9.2"), whole, transfer.Temporary},
		{"busy", replies("greet", "421 too many"), whole, transfer.Temporary},
		{"a greeting without end", map[string]func(*link, string){"greet": func(c *link, _ string) { c.say("220-%s", strings.Repeat("x", 1<<20)) }}, whole, transfer.Temporary},
		{"lines without end", map[string]func(*link, string){"greet": func(c *link, _ string) { c.say("220-%s", strings.Repeat("x\r\n", 1<<20)) }}, whole, transfer.Temporary},
		{"not logged in", replies("PASS", "530 no"), whole, transfer.Forbidden},
		{"an account asked for", replies("PASS", "332 account"), whole, transfer.Forbidden},
		{"not now", replies("USER", "421 no"), whole, transfer.Temporary},
		{"550", replies("RETR", "550 no such file"), whole, transfer.NotFound},
		{"550 denied", replies("RETR", "550 Permission denied"), whole, transfer.Forbidden},
		{"421 midway", replies("RETR", "421 time-out"), whole, transfer.Temporary},
		{"425", replies("RETR", "425 cannot connect"), whole, transfer.Temporary},
		{"450", replies("RETR", "450 busy"), whole, transfer.Temporary},
		{"502", replies("RETR", "502 no"), whole, transfer.Unsupported},
		{"another code", replies("RETR", "200 ok"), whole, transfer.Temporary},
		{"hung up", map[string]func(*link, string){"RETR": hangUp}, whole, transfer.Temporary},
		{"no passive", replies("EPSV", "500 no", "PASV", "500 no"), whole, transfer.Unsupported},
		{"no port", replies("EPSV", "229 ok (|||x|)"), whole, transfer.Temporary},
		{"port 0", replies("EPSV", "229 ok (|||0|)"), whole, transfer.Temporary},
		{"port 65536", replies("EPSV", "229 ok (|||65536|)"), whole, transfer.Temporary},
		{"PASV the wrong way round", replies("EPSV", "500 no", "PASV", "227 )("), whole, transfer.Temporary},
		{"PASV of too little", replies("EPSV", "500 no", "PASV", "227 (1,2,3)"), whole, transfer.Temporary},
		{"PASV of too much", replies("EPSV", "500 no", "PASV", "227 (127,0,0,1,256,1)"), whole, transfer.Temporary},
		{"cut short", gives("hel", "226 done"), whole, transfer.Temporary},
		{"cut short, and said", gives("hel", "426 cut"), whole, transfer.Temporary},
		{"whole, but failed", gives("hello", "451 disk"), whole, transfer.Temporary},
		{"whole, but 550", gives("hello", "550 gone"), whole, transfer.Temporary},
		{"more than it said", gives("hello, and more", "226 done"), whole, transfer.Temporary},
		{"a part cut short", gives("l", "226 done"), part, transfer.Temporary},
		{"no parts", replies("REST", "502 no"), part, transfer.Range},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := (&fake{content: "hello", on: c.on}).start(t)
			c.r.URL = f.url("file")
			data, err := get(t, client(t, ftp.Options{}), c.r)
			if err == nil || transfer.ClassOf(err) != c.class {
				t.Errorf("got %.20q, %v of class %v; want class %v", data, err, transfer.ClassOf(err), c.class)
			}
		})
	}
}

// Size and time are asked for, and nothing depends on an answer that is none.
func TestServersThatKnowLittle(t *testing.T) {
	for name, on := range map[string]map[string]func(*link, string){
		"nothing":    replies("SIZE", "502 no", "MDTM", "502 no", "FEAT", "500 no", "PWD", "500 no"),
		"garbage":    replies("SIZE", "213 many", "MDTM", "213 yesterday", "PWD", "257 here"),
		"less":       replies("SIZE", "213 -1", "MDTM", "213 20201345999999"),
		"no EPSV":    {"EPSV": func(c *link, _ string) { c.say("500 no") }, "PASV": pasv("127,0,0,1")},
		"other host": {"EPSV": func(c *link, _ string) { c.say("500 no") }, "PASV": pasv("192,0,2,1")},
	} {
		f := (&fake{content: "hello", on: on}).start(t)
		if data, err := get(t, client(t, ftp.Options{Timeout: 10 * time.Second}), transfer.Whole(f.url("file"))); err != nil || data != "hello" {
			t.Errorf("%s: got %q, %v", name, data, err)
		}
	}
}

// pasv names a host, which must not be followed.
func pasv(host string) func(*link, string) {
	return func(c *link, _ string) {
		c.listen()
		port := c.port()
		c.say("227 ok (%s,%d,%d)", host, port>>8, port&0xff)
	}
}

// After a failure the next file is got all the same, over another connection where the first is out of step.
func TestAfterAFailure(t *testing.T) {
	for name, on := range map[string]map[string]func(*link, string){
		"refused": replies("SIZE", "550 no", "RETR", "550 no"), "cut": gives("hel", "226 done"), "more": gives("hello and more", "226 done"),
		"421": replies("RETR", "421 bye"),
	} {
		f := (&fake{content: "hello", on: on}).start(t)
		g := client(t, ftp.Options{})
		if _, err := get(t, g, transfer.Whole(f.url("file"))); err == nil {
			t.Errorf("%s: no failure", name)
		}
		f.mu.Lock()
		f.on = nil
		f.mu.Unlock()
		if data, err := get(t, g, transfer.Whole(f.url("file"))); err != nil || data != "hello" {
			t.Errorf("%s: then got %q, %v", name, data, err)
		}
	}
}

// One connection serves file after file, and parts of files, which are given up in the midst.
func TestConnectionIsKept(t *testing.T) {
	f := (&fake{content: strings.Repeat("0123456789", 100_000)}).start(t)
	g := client(t, ftp.Options{})
	for i := range int64(20) {
		data, err := get(t, g, transfer.Request{URL: f.url("file"), Offset: i, Length: 10})
		if want := f.content[i : i+10]; err != nil || data != want {
			t.Errorf("at %d: got %.20q, %v", i, data, err)
		}
	}
	if f.connections() != 1 {
		t.Errorf("%d connections", f.connections())
	}
}

// No name, user or password becomes a command.
func TestNothingIsInjected(t *testing.T) {
	f := (&fake{content: "hello"}).start(t)
	g := client(t, ftp.Options{})
	for _, bad := range []string{"\r\nDELE file", "a\nDELE file", "a\rDELE file", "a\x00b"} {
		u := f.url(url.PathEscape(bad))
		_, err := get(t, g, transfer.Whole(u))
		wantClass(t, err, transfer.Refused)
		wantClass(t, g.Rename(t.Context(), f.url("file"), u), transfer.Refused)
		wantClass(t, g.Mkdir(t.Context(), u, 0), transfer.Refused)
		who := strings.Replace(f.url("file"), "ftp://", "ftp://"+url.UserPassword("u", bad).String()+"@", 1)
		_, err = get(t, g, transfer.Whole(who))
		wantClass(t, err, transfer.Refused)
	}
	if strings.Contains(f.commands(), "DELE") {
		t.Error(f.commands())
	}
}

func wantClass(t *testing.T, err error, class transfer.Class) {
	t.Helper()
	if err == nil || transfer.ClassOf(err) != class {
		t.Errorf("got %v of class %v, want class %v", err, transfer.ClassOf(err), class)
	}
}

// A server may repeat the password it refuses; nobody else does.
func TestNoSecretInErrors(t *testing.T) {
	f := (&fake{on: replies("PASS", "530 who is s3cret?")}).start(t)
	g := client(t, ftp.Options{Credentials: func(*url.URL) (string, string, ftp.Login) { return "bob", "s3cret", ftp.Login{} }})
	for _, u := range []string{f.url("x"), strings.Replace(f.url("x"), "//", "//eve:s3cret@", 1), "ftp://bob:s3cret@127.0.0.1:1/x", "ftp://bob:s3cret@[::1/x"} {
		_, err := get(t, g, transfer.Whole(u))
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", u, err)
		}
	}
}

func TestHostsNotAllowed(t *testing.T) {
	f := (&fake{content: "hello"}).start(t)
	g := client(t, ftp.Options{AllowHost: func(h string) bool { return h == "localhost" }})
	_, err := get(t, g, transfer.Whole(f.url("file")))
	wantClass(t, err, transfer.Refused)
	if f.connections() != 0 {
		t.Error("it was connected to")
	}
}

// Names that lead elsewhere are not listed, whatever the server lists, and lines that are none are left out.
func TestForeignNames(t *testing.T) {
	const facts = "type=file;size=1; ../../etc/passwd\r\ntype=file; /etc/passwd\r\ntype=cdir; .\r\ntype=file; ..\r\ntype=file; a/b\r\n" +
		"type=file; a\x00b\r\n\r\nnothing\r\ntype=file;\r\ntype=file; \r\n;;; \r\ntype=file;size=12;modify=20200102030405;unix.mode=0640; good one\r\n" +
		"Type=OS.unix=slink:/etc/passwd;Size=x; link\r\n"
	const unix = "total 5\r\n-rw-r--r-- 1 u g 1 Jan  2  2020 ../x\r\n-rw-r--r-- 1 u g 1 Jan  2  2020 /x\r\ndrwxr-xr-x 1 u g 1 Jan  2  2020 ..\r\n" +
		"-rw-r--r-- 1 u g 1 Jan  2  2020\r\n-rw-r--r-- 1 u g 1 Jan  2  2020 \r\n----------\r\n\r\n-rw-r----- 1 u g 12 Jan  2  2020 good one\r\n" +
		"lrwxrwxrwx 1 u g 3 Jan  2 2020 link -> /etc/passwd\r\n"
	for feature, listing := range map[string]string{" MLST type*;\r\n": facts, "": unix} {
		f := (&fake{features: feature, content: listing}).start(t)
		got := make(map[string]transfer.Entry)
		err := client(t, ftp.Options{}).List(t.Context(), f.url(""), func(e transfer.Entry) error {
			got[e.Name] = e
			return nil
		})
		if names := slices.Sorted(maps.Keys(got)); err != nil || !slices.Equal(names, []string{"good one", "link"}) {
			t.Errorf("%q: got %q, %v", feature, names, err)
		}
		if e := got["good one"]; e.Size != 12 || e.Mode != 0o640 || e.ModTime.Year() != 2020 || e.Rough != (feature == "") {
			t.Errorf("%q: %+v", feature, e)
		}
		if e := got["link"]; e.Mode.Type().String() != "L---------" || e.Target != "/etc/passwd" {
			t.Errorf("%q: %+v", feature, e)
		}
	}
}

// A listing that was cut is never taken for a whole one.
func TestListingCutOff(t *testing.T) {
	const one = "-rw-r--r-- 1 u g 12 Jan  2  2020 one\r\n"
	for name, give := range map[string]func(*link, string){
		"reply": func(c *link, _ string) { c.give(one, "426 cut") },
		"line":  func(c *link, _ string) { c.give(one+strings.Repeat("x", 1<<20), "226 done") },
		"none":  func(c *link, _ string) { c.say("150 it comes"); c.conn.Close() },
	} {
		f := (&fake{on: map[string]func(*link, string){"LIST": give}}).start(t)
		err := client(t, ftp.Options{}).List(t.Context(), f.url(""), func(transfer.Entry) error { return nil })
		if err == nil || transfer.ClassOf(err) != transfer.Temporary {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// cut passes a control connection on until so many bytes came from the server, and resets it then.
func cut(t *testing.T, server string, after int64) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(func() { ln.Close(); wg.Wait() })
	wg.Go(func() {
		for {
			client, err := ln.Accept()
			if err != nil {
				return
			}
			up, err := net.Dial("tcp", server)
			if err != nil {
				client.Close()
				continue
			}
			wg.Go(func() { _, _ = io.Copy(up, client); up.Close() })
			_, _ = io.CopyN(client, up, after)
			_ = client.(*net.TCPConn).SetLinger(0)
			client.Close()
			up.Close()
		}
	})
	return ln.Addr().String()
}

// Wherever in the dialogue the control connection breaks, what was done is whole or a failure that may pass.
func TestControlCutAnywhere(t *testing.T) {
	f := (&fake{content: "hello", features: " MDTM\r\n SIZE\r\n"}).start(t)
	done := 0
	for after := int64(0); done < 3 && after < 1000; after += 7 {
		at := "ftp://" + cut(t, f.addr, after) + "/file"
		data, err := get(t, client(t, ftp.Options{}), transfer.Whole(at))
		if err == nil && data == "hello" {
			done++
		} else if err == nil || transfer.ClassOf(err) != transfer.Temporary {
			t.Errorf("after %d bytes: got %q, %v", after, data, err)
		}
	}
	if done == 0 {
		t.Error("it never ended")
	}
}
