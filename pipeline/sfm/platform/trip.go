package platform

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"srpump/pipeline/sfm/harvest"
)

// maxHops is how many redirections in a row are followed.
const maxHops = 10

// errPrivate is an address of a machine inside, to which a stranger must not send us.
var errPrivate = errors.New("the address is not a public one")

// errAddress is none of the web, errCircle a redirection to where one was before, or one too many.
var (
	errAddress = errors.New("it is no address of the web")
	errCircle  = errors.New("the redirections have no end")
)

// A trip is a way through redirections, each of which is recorded.
type trip struct {
	w      *harvest.Walk
	public func(netip.Addr) bool
	// inside is set when addresses inside may be asked as well; trusted when the first may be
	// one, as a person has named it: then so may those it leads to.
	inside, trusted bool
	// before is asked before each hop; nil lets all pass.
	before func(context.Context, *trip, *url.URL) error
}

// to asks for an address and for those it leads to; it returns the last answer.
func (t *trip) to(ctx context.Context, q harvest.Request) (*harvest.Answer, error) {
	seen := make(map[string]bool)
	for range maxHops + 1 {
		u, err := url.Parse(q.URL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, fmt.Errorf("cannot fetch %q: %w", nameOf(q.URL), errAddress)
		}
		u.Fragment = ""
		if q.URL = u.String(); seen[q.URL] {
			return nil, fmt.Errorf("cannot fetch %q: %w", nameOf(q.URL), errCircle)
		}
		seen[q.URL] = true
		if t.before != nil {
			if err := t.before(ctx, t, u); err != nil {
				return nil, err
			}
		}
		a, err := t.hop(ctx, q)
		if err != nil {
			return a, err
		}
		next := leadsTo(a, u)
		if next == "" {
			return a, nil
		}
		q.URL = next
	}
	return nil, fmt.Errorf("cannot fetch %q: %w", nameOf(q.URL), errCircle)
}

// hop asks once, for a public address unless others may be asked.
func (t *trip) hop(ctx context.Context, q harvest.Request) (*harvest.Answer, error) {
	refused := false
	if q.Allow = nil; !t.inside {
		q.Allow = func(a netip.Addr) error {
			if t.public(a) {
				return nil
			}
			refused = true
			return errPrivate
		}
	}
	a, err := t.w.Fetch(ctx, q)
	switch {
	case err != nil && refused && t.trusted:
		t.inside, q.Allow = true, nil
		return t.hop(ctx, q)
	case err != nil && refused:
		return nil, fmt.Errorf("cannot fetch %q: %w", nameOf(q.URL), errPrivate)
	}
	t.trusted = false // it was the first
	return a, err
}

// leadsTo is where an answer redirects to, or "".
func leadsTo(a *harvest.Answer, from *url.URL) string {
	switch a.Status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return ""
	}
	location := strings.TrimSpace(a.Header.Get("Location"))
	if location == "" {
		return ""
	}
	to, err := from.Parse(location)
	if err != nil {
		return ""
	}
	return to.String()
}

// public tells whether an address is one of the internet at large.
func public(a netip.Addr) bool {
	a = a.Unmap()
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	for _, reserved := range []string{"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "240.0.0.0/4", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001:db8::/32", "2002::/16", "fec0::/10"} {
		if netip.MustParsePrefix(reserved).Contains(a) {
			return false
		}
	}
	return true
}
