package config_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"srpump/pump/config"
)

const credentialLines = `
# brokers
amqps://anonymous:anonymous@dd.weather.gc.ca
amqp://bob:secret1@broker.example/
amqp://bob:secret2@broker.example:5672/dev
amqp://ann:secret3@broker.example/
amqp://guest:secret4@lone.example:5672
# servers
https://web:p%40ss@data.example/ bt=tok3n
sftp://stanley@files.example ssh_keyfile=/home/s/.ssh/id
ftp://up:secret5@ftp.example active,ascii,tls,prot_p,ca_file=/etc/ca.pem,client_cert=/c.pem,client_key=/k.pem
`

func TestCredentialLookup(t *testing.T) {
	c, problems := config.ParseCredentials("credentials.conf", []byte(credentialLines))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, x := range []struct {
		how, url, want string // want is user:password, or "" for an error
		listed         bool
	}{
		{"consumer", "amqp://bob@broker.example/", "bob:secret1", true},
		{"consumer", "amqp://bob@BROKER.example:5672", "bob:secret1", true},
		{"consumer", "amqp://bob@broker.example/dev", "bob:secret2", true},
		{"consumer", "amqp://ann@broker.example", "ann:secret3", true},
		{"consumer", "amqp://eve@broker.example", "", false},
		{"consumer", "amqp://bob@broker.example:5673", "", false},
		{"consumer", "amqps://bob@broker.example", "", false},
		{"consumer", "amqp://eve:own@broker.example", "eve:own", false},
		{"consumer", "amqps://dd.weather.gc.ca/", "anonymous:anonymous", true},
		{"consumer", "amqp://unknown.example", "anonymous:anonymous", false},
		{"consumer", "sqlite:///tmp/pump.db", ":", false},
		{"consumer", "-", ":", false},
		{"poster", "amqp://lone.example/", "guest:secret4", true},
		{"poster", "amqp://broker.example/", "bob:secret1", true},
		{"poster", "amqp://unknown.example", "guest:guest", false},
		{"poster", "amqps://dd.weather.gc.ca", "anonymous:anonymous", true},
		{"fetch", "https://data.example/a/b.txt", "web:p@ss", true},
		{"fetch", "https://data.example:443/a/b.txt", "web:p@ss", true},
		{"fetch", "http://data.example/a/b.txt", ":", false},
		{"fetch", "https://other.example/x", ":", false},
		{"fetch", "https://nobody@other.example/x", "", false},
		{"fetch", "sftp://stanley@files.example/x", "stanley:", true},
		{"fetch", "sftp://agent@other.example/x", "agent:", false},
		{"fetch", "ftp://up@ftp.example/x", "up:secret5", true},
		{"fetch", "ftp://other.example/x", ":", false},
		{"fetch", "ftp://eve@other.example/x", "", false},
		{"fetch", "file:", ":", false},
	} {
		var got config.Credential
		var err error
		switch x.how {
		case "fetch":
			got, err = c.Lookup(x.url)
		default:
			got, err = c.Broker(x.url, x.how == "poster")
		}
		if x.want == "" {
			if !errors.Is(err, config.ErrNoCredential) {
				t.Errorf("%s %s: %v (%v), want no credential", x.how, x.url, got, err)
			}
			continue
		}
		if s := got.User + ":" + string(got.Password); err != nil || s != x.want || got.Listed != x.listed {
			t.Errorf("%s %s: %s listed %v (%v), want %s", x.how, x.url, s, got.Listed, err, x.want)
		}
	}
	ftp, _ := c.Lookup("ftp://up@ftp.example/")
	if !ftp.Active || !ftp.ASCII || !ftp.TLS || !ftp.ProtP || ftp.CAFile != "/etc/ca.pem" || ftp.ClientCert != "/c.pem" || ftp.ClientKey != "/k.pem" {
		t.Errorf("options of %s are lost", ftp)
	}
	web, _ := c.Lookup("https://data.example/")
	key, _ := c.Lookup("sftp://stanley@files.example/")
	if web.Token != "tok3n" || key.KeyFile != "/home/s/.ssh/id" {
		t.Error("token or key file are lost")
	}
}

// A secret must not reach anything people read, however it is printed.
func TestCredentialsAreNeverPrinted(t *testing.T) {
	c, problems := config.ParseCredentials("credentials.conf", []byte(credentialLines+
		"amqp://u:hush#hush@h/\namqp://u:hush%zz@h/\nhush\nhttp://a:b@h/ hush=hush1\nftp://u:hush@h/x\x00\n"))
	if len(problems) != 5 {
		t.Errorf("%d problems, want 5: %v", len(problems), problems)
	}
	for _, p := range problems {
		if strings.Contains(p.String()+p.Hint, "hush#") || strings.Contains(p.String(), "hush1") || p.Line == 0 {
			t.Errorf("problem tells a secret or no line: %s", p)
		}
	}
	web, err := c.Lookup("https://data.example/")
	if err != nil {
		t.Fatal(err)
	}
	js, err := json.Marshal(web)
	if err != nil {
		t.Fatal(err)
	}
	h := newHouse(t)
	h.write("subscribe/s.conf", "broker amqp://u:p%40ss@h/")
	values := h.clean(config.Subscribe, "s").Values
	for _, out := range []string{
		fmt.Sprintf("%v %+v %#v %s %q", web, web, web, web, web), fmt.Sprintf("%v %+v %#v", c, c, *c), string(js),
		fmt.Sprintf("%v %+v %#v", values, values, values), values.Text("broker"),
	} {
		for _, secret := range []string{"p@ss", "p%40ss", "tok3n", "secret"} {
			if strings.Contains(out, secret) {
				t.Errorf("%q is printed in %s", secret, out)
			}
		}
	}
	if values.String("broker") != "amqp://u:p%40ss@h/" {
		t.Error("the program itself needs the password")
	}
}

func TestCredentialURL(t *testing.T) {
	c := &config.Credentials{}
	for _, raw := range []string{"amqp://u:p%40s%2Fs@h:5672/dev", "amqps://u:p@[::1]:5671/", "https://h:443/x", "sqlite:///tmp/pump.db", "-", "file:"} {
		got, err := c.Lookup(raw)
		if err != nil || got.URL() != raw {
			t.Errorf("%s comes back as %s (%v)", raw, got.URL(), err)
		}
	}
}

func TestRedact(t *testing.T) {
	for raw, want := range map[string]string{
		"amqp://u:p@h/":     "amqp://u:***@h/",
		"amqp://u:p#q@h/":   "amqp://u:***@h/",
		"amqp://u:p/q@h/":   "amqp://u:***@h/",
		"amqp://u:p@h/?x=@": "amqp://u:***@h/?x=@",
		"amqp://u@h/":       "amqp://u@h/",
		"http://h:8000/a@b": "http://h:8000/a@b",
		"file:":             "file:", "-": "-", "": "",
	} {
		if got := config.Redact(raw); got != want {
			t.Errorf("%q is shown as %q, want %q", raw, got, want)
		}
	}
}

func TestCredentialsFile(t *testing.T) {
	h := newHouse(t)
	if c := h.clean(config.Subscribe); c.Credentials == nil {
		t.Fatal("no credentials.conf is no problem, and no credentials")
	}
	if _, err := os.Stat(h.env.ConfigDir() + "/credentials.conf"); err == nil {
		t.Error("credentials.conf was created")
	}
	path := h.write("credentials.conf", "amqp://bob:secret1@h/")
	h.clean(config.Subscribe)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	_, problems := h.load(config.Subscribe)
	if len(problems) != 1 || problems[0].Severity != config.Warning || problems[0].Hint != "chmod 600 "+path {
		t.Errorf("a file others can read: %v", problems)
	}
}
