package hook

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"srpump/post"
)

// A stageRequest is an input as a filter is given it: one line of JSON (sr_hooks(7), STAGES).
type stageRequest struct {
	ID      int64          `json:"id"`
	Path    string         `json:"path,omitempty"`
	Bytes   []byte         `json:"path_base64,omitempty"` // of a path that is not UTF-8
	URL     string         `json:"url,omitempty"`
	Topic   string         `json:"topic,omitempty"`
	RelPath string         `json:"relpath,omitempty"`
	Size    *int64         `json:"size,omitempty"`
	Sum     string         `json:"sum,omitempty"`
	Headers map[string]any `json:"headers"`
	Again   bool           `json:"again,omitempty"`
}

// encode makes the line of an input.
func (in *StageInput) encode() ([]byte, error) {
	r := stageRequest{ID: in.id, Path: in.Path, URL: in.URL, Topic: in.Topic, RelPath: in.RelPath, Sum: in.Sum,
		Headers: textHeaders(in.Headers), Again: in.Again || in.deaths > 0}
	if in.Size >= 0 {
		r.Size = &in.Size
	}
	if !utf8.ValidString(in.Path) {
		r.Bytes = []byte(in.Path)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return nil, fmt.Errorf("cannot show an input: %w", err)
	}
	return b.Bytes(), nil
}

// textHeaders are headers as JSON has them.
func textHeaders(from map[string]any) map[string]any {
	to := make(map[string]any, len(from))
	for name, value := range from {
		if b, ok := value.([]byte); ok {
			value = string(b)
		}
		to[name] = value
	}
	return to
}

// A stageLine is one line of a filter: its greeting, an output, or an answer.
type stageLine struct {
	Version *int           `json:"version"`
	Window  *int           `json:"window"`
	Out     *string        `json:"out"`
	Bytes   *string        `json:"out_base64"`
	Headers map[string]any `json:"headers"`
	For     ids            `json:"for"`
	OK      ids            `json:"ok"`
	Drop    ids            `json:"drop"`
	Retry   ids            `json:"retry"`
	Fault   ids            `json:"fault"`
	Why     string         `json:"why"`
}

// ids are those of inputs: a number, or a list of them.
type ids []int64

// UnmarshalJSON implements json.Unmarshaler.
func (l *ids) UnmarshalJSON(b []byte) error {
	if string(b) == "null" { // as some write what they do not say
		return nil
	}
	if b[0] == '[' {
		return json.Unmarshal(b, (*[]int64)(l))
	}
	var one int64
	if err := json.Unmarshal(b, &one); err != nil {
		return err
	}
	*l = ids{one}
	return nil
}

// parseStageLine reads a line, which says one thing.
func parseStageLine(line []byte) (l stageLine, err error) {
	if err := json.Unmarshal(line, &l); err != nil {
		return l, fmt.Errorf("%w: %.80q: %w", ErrAnswer, line, err)
	}
	said := 0
	for _, is := range []bool{l.greets(), l.makes(), l.OK != nil, l.Drop != nil, l.Retry != nil, l.Fault != nil} {
		if is {
			said++
		}
	}
	if said != 1 {
		return l, fmt.Errorf("%w: it says %d things instead of one: %.80q", ErrAnswer, said, line)
	}
	return l, nil
}

func (l *stageLine) greets() bool { return l.Version != nil || l.Window != nil }
func (l *stageLine) makes() bool  { return l.Out != nil || l.Bytes != nil }

// stageVersion is the protocol there is.
const stageVersion = 1

// greeting is the window a filter asks for.
func (l *stageLine) greeting() (window int, err error) {
	if l.Version != nil && *l.Version != stageVersion {
		return 0, fmt.Errorf("%w: it speaks version %d of the protocol, not %d", ErrAnswer, *l.Version, stageVersion)
	}
	window = 1
	if l.Window != nil {
		window = *l.Window
	}
	if window < 1 {
		return 0, fmt.Errorf("%w: a window of %d", ErrAnswer, window)
	}
	return min(window, MaxWindow), nil
}

// output is what the line says was made.
func (l *stageLine) output() (*StageOutput, error) {
	o := &StageOutput{Headers: make(map[string]string, len(l.Headers))}
	if l.Bytes != nil {
		raw, err := base64.StdEncoding.DecodeString(*l.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%w: out_base64: %w", ErrAnswer, err)
		}
		o.Path = string(raw)
	} else {
		o.Path = *l.Out
	}
	for name, value := range l.Headers {
		if value == nil || name == post.HeaderSum || name == post.HeaderParts {
			continue
		}
		text, ok := value.(string)
		if !ok {
			text = fmt.Sprint(value)
		}
		o.Headers[name] = text
	}
	return o, nil
}

// answer is the inputs an answer is about, and what it says of them.
func (l *stageLine) answer() (ids, Verdict) {
	v := Verdict{Why: shortened(l.Why)}
	switch {
	case l.Drop != nil:
		v.Answer = StageDrop
		return l.Drop, v
	case l.Retry != nil:
		v.Answer = StageRetry
		return l.Retry, v
	case l.Fault != nil:
		v.Answer = StageFault
		return l.Fault, v
	}
	return l.OK, v
}

// shortened makes a reason that does no harm in a log.
func shortened(why string) string {
	const most = 200
	if len(why) > most {
		why = strings.ToValidUTF8(why[:most], "") + "…"
	}
	return printable(why)
}
