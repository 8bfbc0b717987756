// Package test runs the commands as a user does: the one binary, built once,
// against real brokers, servers and disks.
//
//	SRPUMP_REQUIRE=1  what must be installed and is not fails a test instead of skipping it
//	SRPUMP_LONG=1     the long forms: more kills, more files
package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"srpump/test/rabbit"
)

// bin holds the binary and its links, built by TestMain.
var bin string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "srpump-test-")
	if err == nil {
		bin = filepath.Join(dir, "bin")
		err = build(bin)
	}
	code := 1
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = rabbit.Main(m)
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// build makes the binary as the tests are: with the race detector if they have it.
func build(dir string) error {
	args := []string{"build", "-o", filepath.Join(dir, "srpump")}
	if raceDetector {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, "srpump/cmd/srpump")...).CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build: %w: %s", err, out)
	}
	names, err := commands()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := os.Symlink("srpump", filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("cannot build: %w", err)
		}
	}
	// Dropped root must be able to run it.
	return os.Chmod(filepath.Dir(dir), 0o755)
}

// commands are those that are installed.
func commands() ([]string, error) {
	text, err := os.ReadFile("../Makefile")
	if err != nil {
		return nil, err
	}
	_, rest, _ := strings.Cut(string(text), "\nCOMMANDS = ")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.Fields(line), nil
}

// long reports whether the long forms were asked for.
func long() bool { return os.Getenv("SRPUMP_LONG") == "1" }

// scale is short, or full in the long form.
func scale(short, full int) int {
	if long() {
		return full
	}
	return short
}
