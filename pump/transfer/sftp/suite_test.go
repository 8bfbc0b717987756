package sftp_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"srpump/pump/transfer"
	"srpump/pump/transfer/sftp"
	"srpump/pump/transfer/transfertest"
	"srpump/test/openssh"
)

// options let the test's user into a server.
func options(s *openssh.Server) sftp.Options {
	return sftp.Options{
		Home: "/nonexistent", KnownHosts: []string{s.KnownHosts}, Agent: "/nonexistent",
		Credentials: func(*url.URL) (string, string, string) { return s.User, "", s.KeyFile },
	}
}

// below is the URL of a name below the directory a login begins in.
func below(addr, name string) string {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return "sftp://" + addr + "/~/" + strings.Join(parts, "/")
}

func harness(t *testing.T) transfertest.Harness {
	dir := t.TempDir()
	s := openssh.Start(t, dir)
	return transfertest.Harness{
		Dir: dir, Addr: s.Addr,
		URL: func(addr, name string) string {
			if addr != s.Addr {
				s.Know(t, addr)
			}
			return below(addr, name)
		},
		New: func(d time.Duration) transfer.Getter {
			o := options(s)
			o.Timeout = d
			return sftp.New(o)
		},
	}
}

func TestGet(t *testing.T)   { transfertest.Run(t, harness(t)) }
func TestList(t *testing.T)  { transfertest.RunList(t, harness(t)) }
func TestWrite(t *testing.T) { transfertest.RunWrite(t, harness(t)) }
