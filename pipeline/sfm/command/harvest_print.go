package command

import (
	"bufio"
	"bytes"
	"encoding/json"
	"sync"
)

// A printed outbox prints what is said: a line of JSON for each message.
type printed struct {
	mu   sync.Mutex
	to   *bufio.Writer
	last uint64
}

// Next counts.
func (p *printed) Next(least uint64) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = max(p.last+1, least)
	return p.last
}

// Put prints a message; a body that is no JSON is a text.
func (p *printed) Put(_ uint64, key, _ string, headers map[string]any, body []byte) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	line := struct {
		Key     string         `json:"key"`
		Headers map[string]any `json:"headers,omitempty"`
		Body    any            `json:"body"`
	}{key, headers, json.RawMessage(body)}
	if !json.Valid(body) {
		line.Body = string(body)
	}
	if err := e.Encode(line); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := p.to.Write(b.Bytes()); err != nil {
		return err
	}
	return p.to.Flush()
}
