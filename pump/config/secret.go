package config

import (
	"log/slog"
	"net/url"
	"strings"
)

// mask stands for a secret wherever people read.
const mask = "***"

// Secret is text that prints as *** however it is printed; string(s) is the
// only way to it.
type Secret string

// String masks the secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return mask
}

// GoString masks the secret in %#v.
func (s Secret) GoString() string { return s.String() }

// MarshalText masks the secret in JSON and the like.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue masks the secret in a log.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Redact returns a URL with its password replaced by ***. Of what cannot be
// parsed as a URL, everything between the user and the last @ is replaced.
func Redact(raw string) string {
	head, tail, ok := strings.Cut(raw, "://")
	if !ok {
		return raw
	}
	end := strings.LastIndexByte(tail, '@')
	if u, err := url.Parse(raw); err == nil {
		if u.User == nil {
			return raw
		}
		if stop := strings.IndexAny(tail, "/?#"); stop >= 0 {
			end = strings.LastIndexByte(tail[:stop], '@')
		}
	}
	if end < 0 {
		return raw
	}
	user, _, hasPassword := strings.Cut(tail[:end], ":")
	if !hasPassword {
		return raw
	}
	return head + "://" + user + ":" + mask + tail[end:]
}

// RedactText masks the passwords of all URLs in a text, wherever in it they stand: an error of a
// library may quote one. An authority ends at a slash, a blank or a quote.
func RedactText(text string) string {
	var b strings.Builder
	for {
		head, tail, found := strings.Cut(text, "://")
		b.WriteString(head)
		if !found {
			return b.String()
		}
		b.WriteString("://")
		end := strings.IndexAny(tail, "/?# \t\r\n\"'`<>\\")
		if end < 0 {
			end = len(tail)
		}
		text = tail
		at := strings.LastIndexByte(tail[:end], '@')
		if at < 0 {
			continue
		}
		if user, _, secret := strings.Cut(tail[:at], ":"); secret {
			b.WriteString(user + ":" + mask)
			text = tail[at:]
		}
	}
}

func scheme(raw string) string {
	s, _, _ := strings.Cut(raw, ":")
	return strings.ToLower(s)
}
