package harvest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"srpump/pipeline/sfm"
	"srpump/pipeline/warc"
)

// A Walk is what a type gets to do its work with. Several goroutines may use one.
type Walk struct {
	start  *sfm.Start
	kind   *Type
	base   string
	log    *slog.Logger
	now    func() time.Time
	rec    *recorder
	client *client
	memory *memory
	limits limits
	again  Patience
	waits  func(sfm.Note)  // tells that it waits
	stop   <-chan struct{} // closed when the harvest is to end or pause
}

// Start is the request.
func (w *Walk) Start() *sfm.Start { return w.start }

// Base is what addresses begin with, without a slash at its end: the option api_base, or that of the
// type.
func (w *Walk) Base() string { return w.base }

// Apart tells whether each seed has a server of its own.
func (w *Walk) Apart() bool { return w.kind.Apart }

// Log is for what operators should see; requesters see notes.
func (w *Walk) Log() *slog.Logger { return w.log }

// Now is the time.
func (w *Walk) Now() time.Time { return w.now() }

// Option is a text among the options of the request; numbers and booleans in their own words, "" when
// it is not there.
func (w *Walk) Option(name string) string { return word(w.start.Options[name]) }

// Credential is one of the credentials, "" when it is not there.
func (w *Walk) Credential(name string) string { return word(w.start.Credentials[name]) }

// Flag is a boolean among the options, and otherwise when there is none that can be read as one.
func (w *Walk) Flag(name string, otherwise bool) bool {
	switch strings.ToLower(w.Option(name)) {
	case "true", "1", "yes", "on":
		return true
	case "false", "0", "no", "off":
		return false
	}
	return otherwise
}

func word(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	return fmt.Sprint(v)
}

// State reads what was kept under a key, by this or an earlier harvest of the collection.
func (w *Walk) State(key string, into any) bool {
	raw, ok := w.memory.state(key)
	return ok && json.Unmarshal(raw, into) == nil
}

// Keep remembers a value under a key; nil forgets it. It becomes durable together with the answers that were recorded
// so far, so it must not speak of any that are still to come. What cannot be written ends the
// harvest at the next thing that is asked of the walk, here as in all that is told or kept.
func (w *Walk) Keep(key string, value any) {
	raw, err := json.Marshal(value)
	if err != nil {
		w.rec.fail(fmt.Errorf("cannot keep %q: %w", key, err))
		return
	}
	w.note(delta{State: map[string]json.RawMessage{key: raw}})
}

// Window is what was kept of a walk; the zero Window before the first.
func (w *Walk) Window(key string) Window { return w.memory.window(key) }

// KeepWindow is Keep for a window.
func (w *Walk) KeepWindow(key string, window Window) {
	w.note(delta{Windows: map[string]Window{key: window}})
}

// UID tells the requester the id the platform has for a seed.
func (w *Walk) UID(seedID, uid string) {
	w.note(delta{UIDs: map[string]string{seedID: uid}})
}

// TokenUpdate tells the requester that a seed has another name now.
func (w *Walk) TokenUpdate(seedID, token string) {
	w.note(delta{TokenUpdates: map[string]string{seedID: token}})
}

// Warn tells the requester what could not be done; seedID is "" where it is about no seed.
func (w *Walk) Warn(code, message, seedID string) {
	w.note(delta{Warnings: []sfm.Note{{Code: code, Message: message, SeedID: seedID}}})
}

// Info tells the requester something.
func (w *Walk) Info(code, message, seedID string) {
	w.note(delta{Infos: []sfm.Note{{Code: code, Message: message, SeedID: seedID}}})
}

// note remembers at once, and writes down behind what was recorded.
func (w *Walk) note(d delta) {
	w.memory.apply(d)
	w.rec.note(d)
}

// Resource records what was no answer of HTTP. When it returns the record is with the kernel.
func (w *Walk) Resource(uri, contentType string, body []byte) error {
	rec := warc.New(warc.V10, warc.Resource, w.client.scrub.uri(uri), w.now()).With(string(body))
	rec.ContentType = contentType
	return w.rec.add(int64(len(body)), rec)
}

// Next is to be called at each page, and wherever a walk can well be interrupted. It is ErrStopped
// when the harvest is to end.
func (w *Walk) Next(ctx context.Context) error {
	if w.stopped() {
		return ErrStopped
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return w.rec.rollIfDue()
}

// Again waits before the next of several tries that are counted from 1, for a type that makes its own
// connections; it is false once it was tried as often as everything is.
func (w *Walk) Again(ctx context.Context, try int) (bool, error) {
	if try >= w.again.Tries {
		return false, nil
	}
	return true, w.Sleep(ctx, w.again.after(try, nil, w.now()))
}

// Stopping is closed when the harvest is to end, for a type that waits for something else as well.
func (w *Walk) Stopping() <-chan struct{} { return w.stop }

func (w *Walk) stopped() bool {
	select {
	case <-w.stop:
		return true
	default:
		return false
	}
}

// Sleep waits, and is ErrStopped at once when the harvest is to end.
func (w *Walk) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(max(0, d))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-w.stop:
		return ErrStopped
	case <-ctx.Done():
		return ctx.Err()
	}
}
