package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"srpump/pump/config"
)

// Every example that add copies passes check, without a warning, on a host that has the
// directories it is for.
func TestExamplesPassCheck(t *testing.T) {
	for _, p := range Commands() {
		if p == config.Serve || p == config.Audit {
			continue
		}
		home := t.TempDir()
		if err := os.Mkdir(filepath.Join(home, "data"), 0o755); err != nil {
			t.Fatal(err)
		}
		env := config.Env{Home: home, Cwd: home, Hostname: "h", RandID: "0000", Lookup: func(name string) (string, bool) {
			if name == "HOME" {
				return home, true
			}
			return "", false
		}}
		call := func(args ...string) (int, string) {
			var out bytes.Buffer
			code := Run(context.Background(), p, Process{Args: args, Env: env, Stdin: bytes.NewReader(nil), Stdout: &out, Stderr: &out})
			return code, out.String()
		}
		s := &session{preset: p}
		if len(s.exampleNames()) == 0 {
			t.Errorf("%s has no example", p)
		}
		for _, name := range s.exampleNames() {
			if code, out := call("add", name); code != ExitOK {
				t.Fatalf("%s add %s: %d %s", p, name, code, out)
			}
			path := filepath.Join(home, ".config/sarra", p.String(), name+".conf")
			if code, out := call("check", name); code != ExitOK || out != path+": ok\n" {
				t.Errorf("%s %s: %d %s", p, name, code, out)
			}
		}
	}
}
