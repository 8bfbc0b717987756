package hook

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode"
)

// Bounds of what a program may put in our log.
const (
	maxSaying   = 1 << 10 // bytes of one line; the rest of it is dropped
	sayingBurst = 100     // lines in a window
	sayingEvery = 10 * time.Second
)

// sayings makes lines of a log of what a program prints on standard error.
type sayings struct {
	log    *slog.Logger
	option string

	mu      sync.Mutex
	line    []byte
	window  time.Time // began
	said    int       // in it
	dropped int
}

func newSayings(p Program) *sayings { return &sayings{log: p.Log, option: p.Name} }

// Write takes what was printed. It never fails: nobody's hook ends for its log.
func (s *sayings) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(p)
	for len(p) > 0 {
		part, rest, whole := bytes.Cut(p, []byte{'\n'})
		s.line = append(s.line, part[:min(len(part), maxSaying-len(s.line))]...)
		if whole {
			s.say()
		}
		p = rest
	}
	return n, nil
}

// say logs the line there is, unless there were too many of late.
func (s *sayings) say() {
	line := printable(string(s.line))
	s.line = s.line[:0]
	if now := time.Now(); now.Sub(s.window) >= sayingEvery {
		s.tellDropped()
		s.window, s.said = now, 0
	}
	if s.said++; s.said > sayingBurst {
		s.dropped++
		return
	}
	s.log.Info("hook said", "option", s.option, "line", line)
}

func (s *sayings) tellDropped() {
	if s.dropped > 0 {
		s.log.Warn("hook says too much", "option", s.option, "dropped", s.dropped)
		s.dropped = 0
	}
}

// close logs what has no line end, and what was dropped.
func (s *sayings) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.line) > 0 {
		s.say()
	}
	s.tellDropped()
}

// printable replaces what could forge or hide a line of a log.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || r == '\t' {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}
