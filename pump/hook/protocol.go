package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"unicode/utf8"

	"srpump/partition"
	"srpump/post"
	"srpump/pump/config"
)

// A request is an event as an exec: hook is shown it: one line of JSON (sr_hooks(7), EXEC).
type request struct {
	ID      int64           `json:"id"`
	Event   string          `json:"event"`
	Topic   string          `json:"topic,omitempty"`
	Headers map[string]any  `json:"headers,omitempty"`
	PubTime string          `json:"pubtime,omitempty"`
	BaseURL string          `json:"baseurl,omitempty"`
	RelPath string          `json:"relpath,omitempty"`
	NewDir  string          `json:"new_dir,omitempty"`
	NewFile string          `json:"new_file,omitempty"`
	File    string          `json:"file,omitempty"`
	Bytes   []byte          `json:"file_base64,omitempty"` // of File, when it is not UTF-8
	URL     string          `json:"url,omitempty"`
	Text    string          `json:"text,omitempty"`
	Options json.RawMessage `json:"options,omitempty"`
}

// show is the request of an event, with passwords masked.
func show(e *Event, options json.RawMessage) *request {
	r := &request{Event: e.Point, NewDir: e.Dir, NewFile: e.File, File: e.Local, URL: config.Redact(e.URL), Text: e.Text, Options: options}
	if !utf8.ValidString(e.Local) {
		r.Bytes = []byte(e.Local)
	}
	if a := e.Announcement; a != nil {
		r.Topic, r.Headers, r.PubTime, r.BaseURL, r.RelPath = a.Topic, allHeaders(a), a.Time.String(), config.Redact(a.Base), a.Path
	}
	return r
}

// allHeaders are the headers as on the wire, with sum and parts.
func allHeaders(a *post.Announcement) map[string]any {
	h := make(map[string]any, len(a.Headers)+2)
	for name, value := range a.Headers {
		if b, ok := value.([]byte); ok {
			value = string(b)
		}
		h[name] = value
	}
	if s := a.Sum.String(); s != "" {
		h[post.HeaderSum] = s
	}
	if a.HasBlock() {
		h[post.HeaderParts] = a.Block.String()
	}
	return h
}

func (r *request) encode() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return nil, fmt.Errorf("cannot show an event: %w", err)
	}
	return b.Bytes(), nil
}

// asShown is a text as a hook reads it in a request: JSON has no room for bytes that are not UTF-8, and each
// of them is shown as the replacement character.
func asShown(s string) string { return string([]rune(s)) }

// An answer is what a hook said: true, false, or the event as it is to be. What is missing stays.
type answer struct {
	ok    bool
	id    int64
	hasID bool
	fields
}

// fields of an answer that is an object.
type fields struct {
	ID      *int64         `json:"id"`
	OK      *bool          `json:"ok"`
	Error   string         `json:"error"`
	Topic   *string        `json:"topic"`
	Headers map[string]any `json:"headers"`
	PubTime *string        `json:"pubtime"`
	BaseURL *string        `json:"baseurl"`
	RelPath *string        `json:"relpath"`
	NewDir  *string        `json:"new_dir"`
	NewFile *string        `json:"new_file"`
	File    *string        `json:"file"`
	Text    *string        `json:"text"`
}

func parseAnswer(line []byte) (a answer, err error) {
	line = bytes.TrimSpace(line)
	switch string(line) {
	case "true":
		return answer{ok: true}, nil
	case "false", "null":
		return answer{}, nil
	}
	if len(line) == 0 || line[0] != '{' {
		return a, fmt.Errorf("%w: it is neither true, false, null nor an object: %.80q", ErrAnswer, line)
	}
	if err := json.Unmarshal(line, &a.fields); err != nil {
		return a, fmt.Errorf("%w: %.80q: %w", ErrAnswer, line, err)
	}
	a.ok = a.OK == nil || *a.OK
	if a.ID != nil {
		a.id, a.hasID = *a.ID, true
	}
	return a, nil
}

// errHook is what a hook itself says went wrong.
var errHook = errors.New("the hook failed")

// apply changes e as a says. What is as it was shown stays as it is, though it may have been shown masked
// or without bytes that JSON cannot hold.
func (a *answer) apply(e *Event, shown *request) (bool, error) {
	if a.Error != "" {
		return false, fmt.Errorf("%w: %.200q", errHook, a.Error)
	}
	if !a.ok {
		return false, nil
	}
	change(&e.Dir, a.NewDir, shown.NewDir)
	change(&e.File, a.NewFile, shown.NewFile)
	change(&e.Text, a.Text, shown.Text)
	if e.Announcement == nil {
		return true, nil
	}
	return true, a.applyTo(e.Announcement, shown)
}

func change(to *string, said *string, shown string) {
	if said != nil && *said != asShown(shown) {
		*to = *said
	}
}

func (a *answer) applyTo(to *post.Announcement, shown *request) error {
	change(&to.Topic, a.Topic, shown.Topic)
	change(&to.Base, a.BaseURL, shown.BaseURL)
	change(&to.Path, a.RelPath, shown.RelPath)
	if a.PubTime != nil && *a.PubTime != shown.PubTime {
		t, err := post.ParseTimestamp(*a.PubTime)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrAnswer, err)
		}
		to.Time = t
	}
	if a.Headers == nil {
		return nil
	}
	return takeHeaders(to, a.Headers, shown.Headers)
}

// takeHeaders makes headers those said; one that is as it was shown keeps its type.
func takeHeaders(to *post.Announcement, said, shown map[string]any) (err error) {
	old := maps.Clone(to.Headers)
	clear(to.Headers)
	for name, value := range said {
		if value == nil || name == post.HeaderSum || name == post.HeaderParts {
			continue
		}
		if was, ok := old[name]; ok && fmt.Sprint(value) == asShown(fmt.Sprint(shown[name])) {
			to.Headers[name] = was
			continue
		}
		text, ok := value.(string)
		if !ok {
			text = strings.TrimSpace(fmt.Sprint(value))
		}
		to.SetHeader(name, text)
	}
	if s, ok := said[post.HeaderSum].(string); ok && s != to.Sum.String() {
		if to.Sum, err = post.ParseSum(s); err != nil {
			return fmt.Errorf("%w: %w", ErrAnswer, err)
		}
	}
	if s, ok := said[post.HeaderParts].(string); ok && s != to.Block.String() {
		if to.Block, err = partition.Parse(s); err != nil {
			return fmt.Errorf("%w: %w", ErrAnswer, err)
		}
	}
	return nil
}

// optionsOf are the options a hook is shown: those nothing else knows, each with its values.
func optionsOf(env Env) (json.RawMessage, error) {
	if len(env.Unknown) == 0 {
		return nil, nil
	}
	return json.Marshal(env.Unknown)
}
