package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// The demonstration ends by itself, well, and leaves nothing but its folder.
func TestDemo(t *testing.T) {
	script, err := filepath.Abs("../demo/run.sh")
	must(t, err)
	dir := t.TempDir()
	cmd := exec.Command("/bin/sh", script, bin)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(dir, "nothing-here"))
	if !long() {
		cmd.Env = append(cmd.Env, "SRPUMP_DEMO_FILES=200")
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{`equal by sha256: \d+ files`, `40 files added, 20 changed, 10 removed`, `[1-9]\d* duplicates winnowed`, `files/s`} {
		if !regexp.MustCompile(want).Match(out) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	left, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range left {
		if !regexp.MustCompile(`^demo-\d+-\d+-\d+$`).MatchString(e.Name()) && e.Name() != "nothing-here" {
			t.Errorf("left behind: %s", e.Name())
		}
	}
	t.Logf("%s", out)
}
