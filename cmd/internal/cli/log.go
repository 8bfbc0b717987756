package cli

import (
	"context"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"srpump/pump/config"
)

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

// A lineHandler writes "2026-11-21 04:27:37,618 [INFO] phrase key=value …", the line operators
// have always read. Values that hold a blank or a control character are quoted, so that
// no name can forge a line.
type lineHandler struct {
	w     io.Writer
	mu    *sync.Mutex
	level slog.Leveler
	attrs []byte // of WithAttrs, written already
}

func newLog(w io.Writer, l slog.Leveler) *slog.Logger {
	return slog.New(&lineHandler{w: w, mu: new(sync.Mutex), level: l})
}

func (h *lineHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level.Level() }

func (h *lineHandler) Handle(_ context.Context, r slog.Record) error {
	b := make([]byte, 0, 256)
	b = r.Time.AppendFormat(b, "2006-01-02 15:04:05")
	b = append(b, ',')
	ms := r.Time.Nanosecond() / int(time.Millisecond)
	b = append(b, byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10))
	b = append(append(append(b, " ["...), levelName(r.Level)...), "] "...)
	b = append(append(b, r.Message...), h.attrs...)
	r.Attrs(func(a slog.Attr) bool { b = appendAttr(b, a); return true })
	b = append(b, '\n')
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := h.w.Write(b)
	return err
}

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

func levelName(l slog.Level) string {
	if l == slog.LevelWarn {
		return "WARNING"
	}
	return l.String()
}

func appendAttr(b []byte, a slog.Attr) []byte {
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
