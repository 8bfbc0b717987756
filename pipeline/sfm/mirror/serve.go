package mirror

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"sync"
)

// longestLine is what a pump sends at most, in bytes (sr_hooks(7), EXEC).
const longestLine = 1 << 20

// An answer is what a pump is told: with an error it asks again later.
type answer struct {
	ID    json.RawMessage `json:"id,omitempty"`
	Error string          `json:"error,omitempty"`
}

// Serve answers each line of in with one on out, several at a time, until in ends. What is answered
// with an error goes to warn as well. The error is that of in or out, or a line that is no event.
func (m *Mirror) Serve(in io.Reader, out io.Writer, warn func(error)) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longestLine+1)
	var under sync.WaitGroup
	defer under.Wait()
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	a := &answers{to: out}
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return fmt.Errorf("cannot read an event: %w", err)
		}
		free <- struct{}{}
		under.Go(func() {
			defer func() { <-free }()
			reply := answer{ID: e.ID}
			if err := m.take(&e); err != nil {
				reply.Error = err.Error()
				warn(err)
			}
			a.give(reply)
		})
	}
	under.Wait()
	if err := lines.Err(); err != nil {
		return fmt.Errorf("cannot read an event: %w", err)
	}
	return a.err
}

// answers are written a line at a time.
type answers struct {
	mu  sync.Mutex
	to  io.Writer
	err error // the first
}

func (a *answers) give(reply answer) {
	line, err := json.Marshal(reply)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil {
		_, err = a.to.Write(append(line, '\n'))
	}
	if a.err == nil {
		a.err = err
	}
}
