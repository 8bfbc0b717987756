package harvest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"srpump/pipeline/sfm"
)

const (
	// longWait is how long a harvest waits for a server without saying so, and how long the server of one
	// seed may keep those of the others waiting. Rate limits of servers that mean it end within it,
	// or by the quarter of an hour, and those are of APIs that all seeds share.
	longWait = 5 * time.Minute
	// nowhereTries is how often a host that does not exist is looked for when it is that of one seed: a
	// name server may be wrong once.
	nowhereTries = 2
	// waitsCode is that of the note which says that a harvest waits.
	waitsCode = "harvest_waits"
)

// A BusyError is a server of one seed that does not want to be asked for longer than is waited for.
type BusyError struct {
	Host string
	At   time.Time // when it may be asked again
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("%q is not to be asked before %s", e.Host, e.At.UTC().Format(time.RFC3339))
}

// Nowhere tells whether an error is that there is no such host.
func Nowhere(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) && dns.IsNotFound
}

// most is how often something is tried that has ended with an error.
func (w *Walk) most(tries int, err error) int {
	if w.kind.Apart && Nowhere(err) {
		return min(tries, nowhereTries)
	}
	return tries
}

// await waits for the server of an address. A long wait is told of, or is a *BusyError where the server is
// that of one seed.
func (w *Walk) await(ctx context.Context, address string, pause time.Duration) error {
	if pause <= longWait {
		return w.Sleep(ctx, pause)
	}
	host, at := hostOf(address), w.now().Add(pause)
	if w.kind.Apart {
		w.limits.set(host, at) // other seeds may have it, too
		return &BusyError{host, at}
	}
	w.waits(sfm.Note{Code: waitsCode, Message: fmt.Sprintf("the harvest waits for %q until %s", host, at.UTC().Format(time.RFC3339))})
	return w.Sleep(ctx, pause)
}

// tellWait says at once that the harvest waits; only the last time is kept.
func (h *harvest) tellWait(n sfm.Note) error {
	h.result.Infos = slices.DeleteFunc(slices.Clone(h.result.Infos), func(old sfm.Note) bool { return old.Code == waitsCode })
	h.result.Infos = append(h.result.Infos, n)
	return h.tell(h.phase())
}
