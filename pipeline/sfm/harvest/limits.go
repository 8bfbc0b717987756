package harvest

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Patience is how often a server is asked again, and after which time.
type Patience struct {
	Tries   int           // in all
	Pause   time.Duration // before the second time where the server says nothing; it doubles
	Longest time.Duration // of all waiting, also what the server asks for
	Answer  time.Duration // that one may take from the question to its end, but for streams
}

// The patience of those who say nothing of it.
const (
	defaultTries   = 6
	defaultPause   = 5 * time.Second
	defaultLongest = 24 * time.Hour
	defaultAnswer  = time.Hour
	// limited is the pause after 429 from a server that does not say how long.
	limited = 12 // times Pause
)

func (p Patience) defaults() Patience {
	return Patience{cmp.Or(p.Tries, defaultTries), cmp.Or(p.Pause, defaultPause), cmp.Or(p.Longest, defaultLongest), cmp.Or(p.Answer, defaultAnswer)}
}

// after is how long to wait after the try-th time; a is nil when there was no answer.
func (p Patience) after(try int, a *Answer, now time.Time) time.Duration {
	pause := p.Pause << min(try-1, 6)
	if a != nil {
		if at, said := resetOf(a.Header, now, true); said {
			return min(max(at.Sub(now), 0)+p.Pause/10, p.Longest)
		}
		if a.Status == http.StatusTooManyRequests || a.Status == 420 {
			pause = max(pause, limited*p.Pause)
		}
	}
	return min(pause, p.Longest)
}

// resets are the headers that say when there may be more questions. Those of X (seconds since 1970),
// Mastodon (a time), and Tumblr (seconds from now, by hour and day).
func resets() []string {
	return []string{"X-Rate-Limit-Reset", "X-RateLimit-Reset", "RateLimit-Reset", "X-Ratelimit-Perhour-Reset", "X-Ratelimit-Perday-Reset"}
}

// resetOf is when a server may be asked again, as its headers say. Unless it has refused, only a count
// of zero questions left says so.
func resetOf(h http.Header, now time.Time, refused bool) (at time.Time, said bool) {
	if v := h.Get("Retry-After"); v != "" && refused {
		return moment(v, now)
	}
	for _, name := range resets() {
		left := h.Get(strings.TrimSuffix(name, "Reset") + "Remaining")
		reset := h.Get(name)
		if reset == "" || left != "0" && !(refused && left == "") {
			continue
		}
		if t, ok := moment(reset, now); ok && t.After(at) {
			at, said = t, true
		}
	}
	return at, said
}

// sinceEpoch is the least number that is seconds since 1970, and not seconds from now: thirty years.
const sinceEpoch = 1_000_000_000

// moment reads seconds from now, seconds since 1970, a date of HTTP or one of RFC 3339.
func moment(v string, now time.Time) (time.Time, bool) {
	v = strings.TrimSpace(v)
	if n, err := strconv.ParseFloat(v, 64); err == nil && n >= 0 && n < 1e12 {
		if n >= sinceEpoch {
			return time.Unix(int64(n), 0), true
		}
		return now.Add(time.Duration(n * float64(time.Second))), true
	}
	for _, form := range []string{http.TimeFormat, time.RFC1123Z, time.RFC3339Nano} {
		if t, err := time.Parse(form, v); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// limits are until when the hosts must not be asked, as they have said beforehand.
type limits struct {
	mu    sync.Mutex
	until map[string]time.Time
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// learn reads from an answer whether it was the last for a while.
func (l *limits) learn(a *Answer, now time.Time) {
	at, said := resetOf(a.Header, now, false)
	if !said || !at.After(now) {
		return
	}
	l.set(hostOf(a.URL), at)
}

func (l *limits) set(host string, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.until == nil {
		l.until = make(map[string]time.Time)
	}
	l.until[host] = at
}

// wait waits until the host of an address may be asked.
func (l *limits) wait(ctx context.Context, w *Walk, address string) error {
	host := hostOf(address)
	l.mu.Lock()
	at, known := l.until[host]
	delete(l.until, host)
	l.mu.Unlock()
	pause := min(at.Sub(w.now()), w.again.Longest)
	if !known || pause <= 0 {
		return nil
	}
	w.log.Info("harvest waits for its rate limit", "harvest", w.start.ID, "host", host, "seconds", pause.Seconds())
	return w.await(ctx, address, pause)
}
