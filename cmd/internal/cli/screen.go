package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// A screen is a terminal that lines of a log go to, and below them lines that are written over themselves. The
// libraries for this want every line to be a bar towards a total of its own, which announcements have not.
type screen struct {
	mu    sync.Mutex
	w     io.Writer
	shown []string
}

// Write writes a line of a log above what is shown.
func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := s.shown
	s.erase()
	n, err := s.w.Write(b)
	s.draw(lines)
	return n, err
}

// show replaces what is shown by these lines, none of which is wider than the terminal.
func (s *screen) show(lines ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(lines) != len(s.shown) {
		s.erase()
	} else if len(lines) > 1 {
		fmt.Fprintf(s.w, "\x1b[%dA", len(lines)-1)
	}
	s.draw(lines)
}

func (s *screen) draw(lines []string) {
	s.shown = lines
	for i, line := range lines {
		if i > 0 {
			io.WriteString(s.w, "\n")
		}
		io.WriteString(s.w, "\r"+line+"\x1b[K")
	}
}

// erase takes away what is shown; the cursor is at the beginning of a line then.
func (s *screen) erase() {
	if n := len(s.shown); n > 1 {
		io.WriteString(s.w, strings.Repeat("\r\x1b[K\x1b[A", n-1))
	}
	if len(s.shown) > 0 {
		io.WriteString(s.w, "\r\x1b[K")
	}
	s.shown = nil
}
