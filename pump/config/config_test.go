package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"srpump/pump/config"
)

// house is a home directory with configurations, for one test.
type house struct {
	t    *testing.T
	env  config.Env
	vars map[string]string
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{t: t, vars: map[string]string{}}
	root := t.TempDir()
	h.env = config.Env{
		Home: filepath.Join(root, "home"), Cwd: filepath.Join(root, "cwd"),
		Hostname: "h.example.org", RandID: "1f2e",
		Lookup: func(name string) (string, bool) { v, ok := h.vars[name]; return v, ok },
	}
	for _, dir := range []string{h.env.Cwd, h.env.ConfigDir()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// write puts lines into a file below the configuration directory.
func (h *house) write(name string, lines ...string) string {
	h.t.Helper()
	path := filepath.Join(h.env.ConfigDir(), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		h.t.Fatal(err)
	}
	return path
}

// load reads a configuration with a command line as typed, and takes the
// first argument that is no option for its name.
func (h *house) load(preset config.Preset, argv ...string) (*config.Config, []config.Problem) {
	h.t.Helper()
	words, rest, err := config.NormalizeArgs(argv)
	if err != nil {
		h.t.Fatal(err)
	}
	req := config.Request{Env: h.env, Preset: preset, Args: words}
	if len(rest) > 0 {
		req.ConfigArg = rest[0]
	}
	return config.Load(req)
}

// clean is load for what must raise no problem.
func (h *house) clean(preset config.Preset, argv ...string) *config.Config {
	h.t.Helper()
	c, problems := h.load(preset, argv...)
	for _, p := range problems {
		h.t.Errorf("unexpected %s: %s", p.Severity, p)
	}
	return c
}

func TestReadingOrder(t *testing.T) {
	h := newHouse(t)
	h.write("default.conf", "mirror off", "timeout 1", "attempts 1", "batch 1", "sum n")
	h.write("admin.conf", "timeout 2", "attempts 2", "batch 2")
	h.write("sarra.conf", "timeout 3", "attempts 3")
	path := h.write("sarra/s.conf", "timeout 4", "heartbeat 10")
	c := h.clean(config.Sarra, "-timeout", "5", "s")
	if got := c.Values.Duration("timeout").Seconds(); got != 5 {
		t.Errorf("timeout is %v, want 5: the command line beats the file", got)
	}
	if got := c.Values.Origin("timeout"); got != config.CommandLine {
		t.Errorf("origin of timeout is %q", got)
	}
	if c.Values.Int("attempts") != 3 || c.Values.Int("batch") != 2 {
		t.Errorf("attempts %d, batch %d, want 3 and 2", c.Values.Int("attempts"), c.Values.Int("batch"))
	}
	if got := c.Values.Origin("heartbeat"); got != path+":2" {
		t.Errorf("origin of heartbeat is %q, want %s:2", got, path)
	}
	if !c.Values.Bool("mirror") {
		t.Error("default.conf changed mirror for sr_sarra, which insists on it")
	}
}
