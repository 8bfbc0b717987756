package pump

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"srpump/test/openssh"
)

// Names that no path may hold are passed over, which each look says once, for all directories.
func TestPassedOverNamesAreCounted(t *testing.T) {
	h, src := newHouse(t), t.TempDir()
	for _, name := range []string{"plain", "two\nlines", "sub/bell\a"} {
		path := filepath.Join(src, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := openssh.Start(t, src)
	h.knows(s)
	h.credentials("sftp://" + s.User + "@" + s.Addr + "/ ssh_keyfile=" + s.KeyFile)
	args := []string{"-destination", "sftp://" + s.User + "@" + s.Addr + src, "-accept", ".*"}
	h.expect("the first look", h.polled(args...), "plain")
	h.expect("the second", h.polled(args...))
	if log := h.log.String(); strings.Count(log, `level=INFO msg="names passed over" count=2 first="\"two\\nlines\""`) != 2 {
		t.Errorf("it says\n%s", log)
	}
}
