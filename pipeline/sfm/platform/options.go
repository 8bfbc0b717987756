package platform

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/harvest"
)

// checked sees to it that a request with an option that makes no sense is refused before anything is
// asked. What is null, and options that are not known, may be anything.
func checked(t *harvest.Type) {
	own := t.Check
	t.Check = func(s *sfm.Start) error {
		for name, check := range senses() {
			if v := s.Options[name]; v != nil && !check(strings.ToLower(fmt.Sprint(v))) {
				return &sfm.MemberError{Member: "options." + name, Reason: fmt.Sprintf("cannot be %q", fmt.Sprint(v))}
			}
		}
		if own == nil {
			return nil
		}
		return own(s)
	}
}

// senses tell of the options of all types whether a word makes sense; none is the preset.
func senses() map[string]func(string) bool {
	flag := func(v string) bool {
		return slices.Contains([]string{"", "true", "1", "yes", "on", "false", "0", "no", "off"}, v)
	}
	amount := func(v string) bool {
		n, err := strconv.ParseInt(v, 10, 64)
		return v == "" || err == nil && n >= 0
	}
	seconds := func(v string) bool {
		d, err := time.ParseDuration(v + "s")
		return v == "" || err == nil && d >= 0
	}
	return map[string]func(string) bool{"incremental": flag, "private_addresses": flag, "robots": flag, "pages": amount, "overlap": amount, "max_bytes": amount,
		"delay": seconds, "timeout": seconds, "flush": seconds, "api_base": Base}
}

// Base tells whether a text can be the address of an API; "" is that of the type.
func Base(text string) bool {
	u, err := url.Parse(text)
	return text == "" || err == nil && slices.Contains([]string{"http", "https", "ws", "wss"}, u.Scheme) && u.Host != ""
}
