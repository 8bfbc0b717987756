package transfer_test

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"srpump/pump/transfer"
	"srpump/test/nginx"
	"srpump/test/pki"
)

// believing is TLS with files for one server alone.
func believing(t *testing.T, server string, files transfer.TLSFiles) transfer.TLS {
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	return transfer.TLS{Files: func(host, port string) transfer.TLSFiles {
		if host == u.Hostname() && port == u.Port() {
			return files
		}
		return transfer.TLSFiles{}
	}}
}

func served(t *testing.T) (dir string) {
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("hello"), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// sr_options(5), tls_rigour: certificate and host name are verified, and a refusal says what to do.
func TestServersProveWhoTheyAre(t *testing.T) {
	dir, authority := served(t), pki.NewAuthority(t)
	ca := transfer.TLSFiles{CA: authority.File}
	soon, past := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	for _, c := range []struct {
		name  string
		cert  pki.Pair
		files transfer.TLSFiles
		tells string // of the refusal; empty: none
	}{
		{"known", authority.Server(t, "127.0.0.1", soon), ca, ""},
		{"unknown", authority.Server(t, "127.0.0.1", soon), transfer.TLSFiles{}, "ca_file="},
		{"of another authority", pki.NewAuthority(t).Server(t, "127.0.0.1", soon), ca, "ca_file="},
		{"expired", authority.Server(t, "127.0.0.1", past), ca, "new certificate"},
		{"of another host", authority.Server(t, "other.example", soon), ca, "name of its certificate"},
	} {
		base := nginx.StartTLS(t, dir, nginx.TLS{Cert: c.cert.Cert, Key: c.cert.Key})
		for _, rigour := range []transfer.TLSRigour{transfer.TLSNormal, transfer.TLSStrict, transfer.TLSLax} {
			o := believing(t, base, c.files)
			o.Rigour = rigour
			data, err := get(t, newHTTP(t, transfer.HTTPOptions{TLS: o}), transfer.Whole(base+"/a"))
			if c.tells == "" || rigour == transfer.TLSLax {
				if err != nil || string(data) != "hello" {
					t.Errorf("%s, %v: got %q, %v", c.name, rigour, data, err)
				}
			} else if err == nil || !strings.Contains(err.Error(), c.tells) {
				t.Errorf("%s, %v: got %v, want %q", c.name, rigour, err, c.tells)
			}
		}
	}
}

// sr_credentials(5), client_cert: shown to the server it is for.
func TestClientCertificates(t *testing.T) {
	dir, authority := served(t), pki.NewAuthority(t)
	server, ours, other := authority.Server(t, "127.0.0.1", time.Now().Add(time.Hour)), authority.Client(t, "bob"), pki.NewAuthority(t).Client(t, "eve")
	base := nginx.StartTLS(t, dir, nginx.TLS{Cert: server.Cert, Key: server.Key, ClientCA: authority.File})
	for name, c := range map[string]struct {
		files transfer.TLSFiles
		works bool
	}{
		"given":                {transfer.TLSFiles{CA: authority.File, Cert: ours.Cert, Key: ours.Key}, true},
		"missing":              {transfer.TLSFiles{CA: authority.File}, false},
		"of another authority": {transfer.TLSFiles{CA: authority.File, Cert: other.Cert, Key: other.Key}, false},
	} {
		g := newHTTP(t, transfer.HTTPOptions{TLS: believing(t, base, c.files)})
		if data, err := get(t, g, transfer.Whole(base+"/a")); (err == nil && string(data) == "hello") != c.works {
			t.Errorf("%s: got %q, %v", name, data, err)
		}
	}
}

// Files that cannot be used are refused by name, and their content is not told.
func TestUnusableTLSFiles(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "pem")
	if err := os.WriteFile(secret, []byte("s3cret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, files := range []transfer.TLSFiles{{CA: "/nonexistent"}, {CA: secret}, {Cert: "/nonexistent"}, {Cert: secret}, {Cert: secret, Key: "/nonexistent"}} {
		g := newHTTP(t, transfer.HTTPOptions{TLS: believing(t, "https://127.0.0.1:1", files)})
		_, err := get(t, g, transfer.Whole("https://127.0.0.1:1/a"))
		if transfer.ClassOf(err) != transfer.Refused || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), files.CA+files.Cert) {
			t.Errorf("%+v: %v", files, err)
		}
	}
}

// What a server's own certificate authority signed does not count for another server.
func TestFilesAreForOneServer(t *testing.T) {
	dir, authority := served(t), pki.NewAuthority(t)
	cert := authority.Server(t, "127.0.0.1", time.Now().Add(time.Hour))
	one, two := nginx.StartTLS(t, dir, nginx.TLS{Cert: cert.Cert, Key: cert.Key}), nginx.StartTLS(t, dir, nginx.TLS{Cert: cert.Cert, Key: cert.Key})
	g := newHTTP(t, transfer.HTTPOptions{TLS: believing(t, one, transfer.TLSFiles{CA: authority.File})})
	if _, err := get(t, g, transfer.Whole(one+"/a")); err != nil {
		t.Error(err)
	}
	_, err := get(t, g, transfer.Whole(two+"/a"))
	var e *transfer.Error
	if !errors.As(err, &e) {
		t.Errorf("got %v", err)
	}
}
