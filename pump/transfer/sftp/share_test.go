package sftp_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"srpump/pump/transfer"
	"srpump/pump/transfer/sftp"
	"srpump/test/openssh"
)

// logins counts how often somebody was let in.
func logins(t *testing.T, s *openssh.Server) int {
	t.Helper()
	log, err := os.ReadFile(s.Log)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(log), "Accepted publickey")
}

// However many ask at once, one connection is made; cancelling some does not end the others, and
// when it is lost the next makes one more.
func TestOneConnectionForAll(t *testing.T) {
	dir := t.TempDir()
	s := openssh.Start(t, dir)
	big := make([]byte, 4<<20)
	if err := os.WriteFile(filepath.Join(dir, "big"), big, 0o644); err != nil {
		t.Fatal(err)
	}
	g := sftp.New(options(s))
	defer g.Close()
	url := "sftp://" + s.Addr + "/~/big"
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			body, err := g.Get(ctx, transfer.Whole(url))
			if err != nil {
				t.Error(err)
				return
			}
			defer body.Close()
			if i%2 == 0 {
				cancel()
			}
			n, err := io.Copy(io.Discard, body)
			if i%2 == 0 && transfer.ClassOf(err) != transfer.Cancelled || i%2 == 1 && (err != nil || n != int64(len(big))) {
				t.Errorf("%d: %d bytes, %v", i, n, err)
			}
		})
	}
	wg.Wait()
	if n := logins(t, s); n != 1 {
		t.Errorf("%d connections", n)
	}
	s.Restart(t)
	if _, err := g.Stat(t.Context(), url); err != nil {
		t.Errorf("after a restart: %v", err)
	}
	if n := logins(t, s); n != 2 {
		t.Errorf("%d connections", n)
	}
}

// A transfer that is given up half-way leaves the connection to others.
func TestNothingStaysOpen(t *testing.T) {
	dir := t.TempDir()
	s := openssh.Start(t, dir)
	if err := os.Truncate(create(t, filepath.Join(dir, "big")), 64<<20); err != nil {
		t.Fatal(err)
	}
	g := sftp.New(options(s))
	defer g.Close()
	for range 50 { // were each to stay open, a server would run out of them
		body, err := g.Get(t.Context(), transfer.Whole("sftp://"+s.Addr+"/~/big"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(body, make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
		body.Close()
	}
	if n := logins(t, s); n != 1 {
		t.Errorf("%d connections", n)
	}
}

func create(t *testing.T, path string) string {
	t.Helper()
	write(t, path, "")
	return path
}

// Symlink makes a link that says what it is told to.
func TestSymlink(t *testing.T) {
	dir := t.TempDir()
	s := openssh.Start(t, dir)
	g := sftp.New(options(s))
	defer g.Close()
	url := "sftp://" + s.Addr + "/~/link"
	if err := g.Symlink(t.Context(), "../some where", url); err != nil {
		t.Fatal(err)
	}
	if text, err := os.Readlink(filepath.Join(dir, "link")); text != "../some where" {
		t.Errorf("it says %q, %v", text, err)
	}
	if e, err := g.Stat(t.Context(), url); err != nil || e.Target != "../some where" {
		t.Errorf("got %+v, %v", e, err)
	}
}
