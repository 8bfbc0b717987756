package cli

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"srpump/pump"
	"srpump/pump/config"
)

type written struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *written) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *written) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// A line of progress is shown on a terminal, within its width, and taken away at the end; never
// anywhere else unless asked for, and not on a terminal when that is asked for.
func TestProgress(t *testing.T) {
	terminal := func() (int, bool) { return 30, true }
	pipe := func() (int, bool) { return 0, false }
	for _, c := range []struct {
		option string
		tty    func() (int, bool)
		want   bool
	}{{"auto", terminal, true}, {"auto", pipe, false}, {"auto", nil, false}, {"off", terminal, false}, {"on", pipe, true}} {
		cfg, problems := config.Load(config.Request{Env: config.Env{Home: t.TempDir(), Cwd: t.TempDir()}, Preset: config.Subscribe, Args: [][]string{{"progress", c.option}}})
		if config.Failed(problems) {
			t.Fatal(problems)
		}
		var out written
		var n pump.Counters
		n.Fetched.Store(1234)
		n.Bytes.Store(5 << 20)
		s := &session{Process: Process{Stderr: &out, TTY: c.tty}, cfg: cfg}
		stop := s.progress(&n, progressFlow, nil)
		for end := time.Now().Add(10 * time.Second); c.want && !strings.Contains(out.String(), "1234 files") && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		stop()
		got := out.String()
		if c.want != strings.Contains(got, "1234 files, 5.0 MiB") || c.want != strings.HasSuffix(got, "\r\x1b[K") {
			t.Errorf("progress %s: %q", c.option, got)
		}
		for _, line := range strings.Split(got, "\r") {
			if len(strings.TrimSuffix(line, "\x1b[K")) >= 80 || c.tty != nil && c.option == "auto" && len(strings.TrimSuffix(line, "\x1b[K")) >= 30 {
				t.Errorf("a line wider than the terminal: %q", line)
			}
		}
	}
}
