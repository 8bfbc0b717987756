package amqp

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"srpump/pump/broker"
)

// Ports, vhosts and percent-encoding, as the manual of the broker's URL has it.
func TestParse(t *testing.T) {
	for _, c := range []struct {
		url, addr, user, password string
		vhosts                    []string
	}{
		{"amqp://h", "h:5672", "guest", "guest", []string{"/"}},
		{"amqp://h/", "h:5672", "guest", "guest", []string{"/"}},
		{"amqp://h/%2f", "h:5672", "guest", "guest", []string{"/"}},
		{"amqps://u@h", "h:5671", "u", "", []string{"/"}},
		{"amqp://u%40x:p%2Fq@h:1/dev", "h:1", "u@x", "p/q", []string{"dev", "/dev"}},
		{"amqp://h//dev", "h:5672", "guest", "guest", []string{"/dev"}},
		{"amqp://[::1]:7/a%20b", "[::1]:7", "guest", "guest", []string{"a b", "/a b"}},
	} {
		got, err := parse(c.url)
		if err != nil || got.addr != c.addr || got.user != c.user || got.password != c.password || !slices.Equal(got.vhosts, c.vhosts) {
			t.Errorf("parse(%q) = %+v, %v", c.url, got, err)
		}
	}
}

// No form of a URL leaks its password.
func TestParseKeepsSecrets(t *testing.T) {
	got, err := parse("amqp://bob:secret@h/dev")
	if err != nil || strings.Contains(got.safe, "secret") || got.safe != "amqp://bob@h/dev" {
		t.Errorf("safe form %q, %v", got.safe, err)
	}
	for _, url := range []string{"amqp://bob:secret@h:port/", "http://bob:secret@h/", "amqp://bob:secret@h/%zz"} {
		_, err := parse(url)
		if !errors.Is(err, broker.ErrRefused) || strings.Contains(err.Error()+broker.Hint(err), "secret") {
			t.Errorf("parse(%q): %v", url, err)
		}
	}
}
