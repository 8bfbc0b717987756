package pump

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"srpump/pump/config"
	"srpump/test/openssh"
)

// knows makes the host of h trust an SSH server.
func (h *house) knows(s *openssh.Server) {
	h.t.Helper()
	text, err := os.ReadFile(s.KnownHosts)
	if err != nil {
		h.t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(h.dir, ".ssh"), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.dir, ".ssh/known_hosts"), text, 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// sr_subscribe(1): files are fetched over SFTP from servers known_hosts has, with the key
// credentials.conf names for the host. Until the host is known the file waits for it.
func TestSubscribeOverSFTP(t *testing.T) {
	h := newHouse(t)
	src := t.TempDir()
	s := openssh.Start(t, src)
	h.credentials("sftp://" + s.User + "@" + s.Addr + "/ ssh_keyfile=" + s.KeyFile)
	contents := map[string]string{"a b#c%20?+é.txt": strings.Repeat("hello world\n", 100_000), "sub/small": "x", "sub/empty": ""}
	for name, content := range contents {
		path := filepath.Join(src, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	base := "sftp://" + s.User + "@" + s.Addr + src + "/"
	h.run(config.Subscribe, "-exchange", "xin", "-directory", h.dir+"/got", "-mirror", "-attempts", "1")
	h.post("xin", announced("sftp://"+s.User+"@"+s.Addr+"/", strings.TrimPrefix(src, "/")+"/sub/small", "x", 1700000000))
	h.until("the key is shown", func() bool { return strings.Contains(h.log.String(), "ssh-ed25519 AAAA") })
	h.knows(s)
	n := int64(0)
	for name, content := range contents {
		n++
		h.post("xin", announced(base, name, content, 1700000000+n))
	}
	for name, content := range contents {
		h.until(name+" is there", func() bool {
			data, err := os.ReadFile(h.dir + "/got/" + name)
			return err == nil && string(data) == content
		})
	}
}

// sr_sender(1): files are delivered over SFTP, with their directories, names and times.
func TestSendOverSFTP(t *testing.T) {
	h := newHouse(t)
	there := t.TempDir()
	s := openssh.Start(t, there)
	h.knows(s)
	h.credentials("sftp://" + s.User + "@" + s.Addr + "/ ssh_keyfile=" + s.KeyFile)
	got := h.capture("xout")
	h.write("pub/sub/a b#c", "hello")
	h.run(config.Sender, "-exchange", "xin", "-base_dir", h.dir+"/pub", "-destination", "sftp://"+s.User+"@"+s.Addr+there,
		"-pb", "sqlite://"+h.db, "-post_exchange", "xout")
	h.post("xin", announced("http://nobody.example/", "sub/a b#c", "hello", 1700000000))
	h.until("it is announced", func() bool { return len(got()) == 1 })
	if data, err := os.ReadFile(filepath.Join(there, "sub/a b#c")); string(data) != "hello" {
		t.Errorf("there is %q, %v", data, err)
	}
	if a := got()[0]; a.Base != "sftp://"+s.User+"@"+s.Addr+there+"/" {
		t.Errorf("announced at %q", a.Base)
	}
}
