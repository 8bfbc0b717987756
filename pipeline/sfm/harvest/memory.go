package harvest

import (
	"encoding/json"
	"sync"
)

// A memory is the state of a collection as the walk knows it: what is on the disk, and what is on its
// way there.
type memory struct {
	mu      sync.Mutex
	values  map[string]json.RawMessage
	windows map[string]Window
}

func (m *memory) state(key string) (json.RawMessage, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	raw, ok := m.values[key]
	return raw, ok
}

func (m *memory) window(key string) Window {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.windows[key]
}

func (m *memory) apply(d delta) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.values = merged(m.values, d.State)
	m.windows = merged(m.windows, d.Windows)
}
