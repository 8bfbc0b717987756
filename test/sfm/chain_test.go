// Package sfm runs the chain of examples/sfm as its user does.
package sfm

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"srpump/test/rabbit"
)

// A feed is harvested as SFM asks for it, mirrored, told of and exported, through either broker; nothing
// is left running.
func TestChain(t *testing.T) {
	bin := commands(t)
	t.Run("sqlite", func(t *testing.T) { chain(t, bin, "") })
	t.Run("rabbitmq", func(t *testing.T) {
		node := rabbit.Own(t)
		chain(t, bin, node.URL("guest"))
	})
}

// commands builds what the chain is made of.
func commands(t *testing.T) string {
	t.Helper()
	bin := t.TempDir()
	for _, program := range []string{"srpump", "warc", "sfm_harvest", "sfm_items", "sfm_mirror", "sfm_export"} {
		if out, err := exec.Command("go", "build", "-o", bin, "srpump/cmd/"+program).CombinedOutput(); err != nil {
			t.Fatalf("cannot build: %v: %s", err, out)
		}
	}
	for _, link := range []string{"sr", "sr_serve", "sr_spool", "sr_subscribe"} {
		if err := os.Symlink("srpump", filepath.Join(bin, link)); err != nil {
			t.Fatal(err)
		}
	}
	return bin
}

func chain(t *testing.T, bin, broker string) {
	script, err := filepath.Abs("../../examples/sfm/run.sh")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", script, bin)
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "BROKER="+broker)
	out, err := cmd.CombinedOutput()
	if err != nil {
		logs, _ := exec.Command("sh", "-c", "tail -n 20 "+cmd.Dir+"/sfm-*/log/* "+cmd.Dir+"/sfm-*/.cache/sarra/log/*").CombinedOutput()
		t.Fatalf("%v\n%s\n%s", err, out, logs)
	}
	// The flow of a harvest by the messaging specification, and then the mirror's and the exporter's part.
	want := regexp.MustCompile(`(?s)harvest\.start\.feed\.feed .*harvest\.status\.feed\.feed running.*warc_created .*harvest\.status\.feed\.feed running.*` +
		`harvest\.status\.feed\.feed completed success.*\n  warc_created /.*/mirror/collection_set/blogs/one/.*\.warc\.gz\n.*http://blog\.example/3`)
	if !want.Match(out) {
		t.Errorf("it says\n%s", out)
	}
	if left, _ := exec.Command("pgrep", "-f", cmd.Dir).Output(); len(left) > 0 {
		t.Errorf("still running: %s", left)
	}
}
