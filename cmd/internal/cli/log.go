package cli

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"srpump/pump"
	"srpump/pump/config"
	"srpump/pump/retry"
)

// The forms of a log, which the option log_format names. autoFormat is the old one in the log of
// what was started, and text elsewhere.
const (
	autoFormat = "auto"
	oldFormat  = "v02"
	textFormat = "text"
	jsonFormat = "json"
)

// logFormat is the form of the log of this session.
func (s *session) logFormat() string {
	format := s.cfg.Values.String("log_format")
	switch {
	case format != autoFormat:
		return format
	case s.instance > 0:
		return oldFormat
	}
	return textFormat
}

// levels are the words of the option loglevel.
func level(v config.Values) slog.Level {
	if v.Bool("debug") {
		return slog.LevelDebug
	}
	switch v.String("loglevel") {
	case "debug":
		return slog.LevelDebug
	case "warning":
		return slog.LevelWarn
	case "error":
		return slog.LevelError
	case "critical", "none":
		return slog.LevelError + 4
	}
	return slog.LevelInfo
}

// newLog makes the log of a command in a form of the option log_format. The forms for files say
// what v02 says of each announcement; that for people leaves it to debug.
func newLog(w io.Writer, l slog.Leveler, format string) *slog.Logger {
	w = &maskingWriter{w: w}
	if format != textFormat {
		l = eachLevel{l}
	}
	if format == jsonFormat {
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: l, ReplaceAttr: jsonAttr}))
	}
	return slog.New(&lineHandler{w: w, mu: new(sync.Mutex), level: l, old: format == oldFormat})
}

// An eachLevel lets through each announcement where it lets through INFO.
type eachLevel struct{ slog.Leveler }

func (e eachLevel) Level() slog.Level {
	if l := e.Leveler.Level(); l != slog.LevelInfo {
		return l
	}
	return pump.LevelEach
}

// jsonAttr names levels as the lines do, and leaves out what is for the form of v02.
func jsonAttr(_ []string, a slog.Attr) slog.Attr {
	switch {
	case a.Key == pump.OldLineKey, a.Key == "hint" && a.Value.String() == "":
		return slog.Attr{}
	case a.Key == slog.LevelKey:
		l, _ := a.Value.Any().(slog.Level)
		return slog.String(slog.LevelKey, levelName(l, true))
	case a.Value.Kind() == slog.KindAny:
		return slog.String(a.Key, a.Value.String())
	}
	return a
}

// A maskingWriter masks the passwords of URLs in whatever passes: errors of libraries quote them.
type maskingWriter struct{ w io.Writer }

func (m *maskingWriter) Write(line []byte) (int, error) {
	if !bytes.Contains(line, []byte("://")) || !bytes.Contains(line, []byte("@")) {
		return m.w.Write(line)
	}
	if _, err := io.WriteString(m.w, config.RedactText(string(line))); err != nil {
		return 0, err
	}
	return len(line), nil
}

// A lineHandler writes "2026-11-21 04:27:37,618 [INFO] phrase key=value …", the line operators
// have always read. Values that hold a blank or a control character are quoted, so that
// no name can forge a line. With old, an event v02 has a line for is said in the words of v02.
type lineHandler struct {
	w     io.Writer
	mu    *sync.Mutex
	level slog.Leveler
	old   bool
	attrs []byte // of WithAttrs, written already
}

// Enabled reports whether a level is logged.
func (h *lineHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level.Level() }

// Handle writes one line.
func (h *lineHandler) Handle(_ context.Context, r slog.Record) error {
	b := make([]byte, 0, 512)
	b = r.Time.AppendFormat(b, "2006-01-02 15:04:05")
	b = append(b, ',')
	ms := r.Time.Nanosecond() / int(time.Millisecond)
	b = append(b, byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10))
	b = append(append(append(b, " ["...), levelName(r.Level, h.old)...), "] "...)
	if text, there := oldText(r); h.old && there {
		b = retry.AppendPrintable(b, text)
	} else {
		b = append(append(b, r.Message...), h.attrs...)
		r.Attrs(func(a slog.Attr) bool { b = appendAttr(b, a); return true })
	}
	b = append(b, '\n')
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := h.w.Write(b)
	return err
}

// oldText is what v02 says of the event, where it has a line for it.
func oldText(r slog.Record) (text string, there bool) {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == pump.OldLineKey {
			if l, ok := a.Value.Any().(pump.OldLine); ok {
				text, there = l.OldLine(), true
			}
		}
		return !there
	})
	return text, there
}

// WithAttrs returns a handler that writes them in each line.
func (h *lineHandler) WithAttrs(as []slog.Attr) slog.Handler {
	c := *h
	c.attrs = append([]byte(nil), h.attrs...)
	for _, a := range as {
		c.attrs = appendAttr(c.attrs, a)
	}
	return &c
}

// WithGroup is not used by this program: keys are flat.
func (h *lineHandler) WithGroup(string) slog.Handler { return h }

// levelName is a level as v02 writes it. In its form each announcement is worth INFO.
func levelName(l slog.Level, each bool) string {
	switch {
	case l == slog.LevelWarn:
		return "WARNING"
	case l == pump.LevelEach && each:
		return slog.LevelInfo.String()
	case l == pump.LevelEach:
		return slog.LevelDebug.String()
	}
	return l.String()
}

func appendAttr(b []byte, a slog.Attr) []byte {
	if a.Key == pump.OldLineKey || a.Equal(slog.Attr{}) {
		return b
	}
	v := a.Value.Resolve().String()
	if v == "" && a.Key == "hint" {
		return b
	}
	b = append(append(append(b, ' '), a.Key...), '=')
	if plain(v) {
		return append(b, v...)
	}
	return strconv.AppendQuote(b, v)
}

func plain(s string) bool {
	for _, r := range s {
		if r <= ' ' || r == '"' || r == 0x7f || r == utf8.RuneError || !strconv.IsPrint(r) {
			return false
		}
	}
	return s != ""
}
