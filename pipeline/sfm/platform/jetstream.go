package platform

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/harvest"
)

const (
	// jetstreamFlush, unless the option flush says other seconds, and jetstreamBytes are after what
	// time, or how many bytes, what came is recorded: what a crash can lose, and the cursor brings
	// again.
	jetstreamFlush = time.Minute
	jetstreamBytes = 1 << 20
	// jetstreamFrame is how long an event may be, in bytes.
	jetstreamFrame = 8 << 20
	// jetstreamAhead is how many frames are read before they are recorded; the rest waits with the server.
	jetstreamAhead = 32
	// jetstreamOverlap is how far back from the last event recorded a process begins, as the
	// clocks of two servers behind one name may differ.
	jetstreamOverlap = 2 * time.Second
	// jetstreamIdle is after what time without an event the connection is asked whether it is
	// there.
	jetstreamIdle = 30 * time.Second
	// jetstreamPatience is how long a server may take to open a connection.
	jetstreamPatience = 30 * time.Second
	// jetstreamInURL is how many authors are named in the URL; of more the server is told by a
	// message, as the URL would get too long.
	jetstreamInURL = 50
)

// blueskyJetstream harvests events of the network as they happen: those of some collections, by
// some authors. API: Jetstream, "Consuming Jetstream".
func blueskyJetstream() *harvest.Type {
	return &harvest.Type{Name: "bluesky_jetstream", Platform: "bluesky", Service: "Bluesky Harvester", Module: "bluesky_harvester",
		APIBase: "wss://jetstream2.us-east.bsky.network", Stream: true, MinSeeds: 0, MaxSeeds: -1,
		Walk: func(ctx context.Context, w *harvest.Walk) error {
			j := &jetstream{w: w, key: "jetstream.cursor", collections: words(w.Start().Options["collections"]),
				pause: max(duration(w, "flush", jetstreamFlush), 10*time.Millisecond)}
			if !w.Flag("incremental", true) {
				j.key += "@" + w.Start().ID
			}
			if err := j.take(ctx); err != nil {
				return err
			}
			return lasting(ctx, w, j.listen)
		}}
}

// A jetstream is what of the stream is wanted, and what of it is not recorded yet.
type jetstream struct {
	w                 *harvest.Walk
	key               string
	collections, dids []string
	pause             time.Duration // jetstreamFlush

	cursor int64  // time_us of the last event recorded, or of the beginning
	uri    string // of the connection
	held   bytes.Buffer
	last   []byte // the last event held, without its line end
}

// take reads what is wanted off the seeds: a DID, a collection, @handle, or an object.
func (j *jetstream) take(ctx context.Context) error {
	for _, seed := range j.w.Start().Seeds {
		token := seed.Token.String()
		object, isObject := seed.Token.Object()
		switch {
		case seed.UID != "":
			j.dids = append(j.dids, seed.UID)
		case isObject:
			j.collections = append(j.collections, words(object["wantedCollections"])...)
			j.dids = append(j.dids, words(object["wantedDids"])...)
		case strings.HasPrefix(token, "did:"):
			j.dids = append(j.dids, token)
		case strings.HasPrefix(token, "app.bsky.") || strings.HasPrefix(token, "com.atproto.") || strings.HasSuffix(token, ".*"):
			j.collections = append(j.collections, token)
		default:
			if err := j.resolve(ctx, seed, strings.TrimPrefix(token, "@")); err != nil {
				return err
			}
		}
	}
	if len(j.dids) == 0 && slices.ContainsFunc(j.w.Start().Seeds, isAuthor) {
		return harvest.Refuse("no_seeds", "None of the authors was found, and without one the stream would be that of everybody")
	}
	if len(j.collections) == 0 {
		j.collections = []string{"app.bsky.feed.post"}
	}
	j.begin()
	return nil
}

// begin takes up the cursor. The first time it is now, so that what is sent before any event came
// is not lost to an interruption either.
func (j *jetstream) begin() {
	if j.w.State(j.key, &j.cursor) && j.cursor > 0 {
		j.cursor = max(1, j.cursor-jetstreamOverlap.Microseconds())
		return
	}
	j.cursor = j.w.Now().UnixMicro()
	j.w.Keep(j.key, j.cursor)
}

func isAuthor(seed sfm.Seed) bool {
	token := seed.Token.String()
	_, isObject := seed.Token.Object()
	return !isObject && !strings.HasPrefix(token, "app.bsky.") && !strings.HasPrefix(token, "com.atproto.") && !strings.HasSuffix(token, ".*")
}

// resolve finds the DID of a handle.
func (j *jetstream) resolve(ctx context.Context, seed sfm.Seed, handle string) error {
	resolver := strings.TrimSuffix(j.w.Option("resolver"), "/")
	if resolver == "" {
		resolver = blueskyAppView
	}
	var a struct{ DID string }
	err := get(ctx, j.w, query(resolver, "/xrpc/com.atproto.identity.resolveHandle", "handle", handle), nil, &a)
	var trouble *seedError
	if errors.As(blueskyTrouble(err), &trouble) {
		j.w.Warn(known(seed, trouble.trouble), label(seed)+": "+trouble.detail, seed.ID)
		return nil
	}
	if err != nil || a.DID == "" {
		return err
	}
	j.dids = append(j.dids, a.DID)
	j.w.UID(seed.ID, a.DID)
	return nil
}

// address is where the stream is.
func (j *jetstream) address() string {
	q := url.Values{"wantedCollections": j.collections}
	if len(j.dids) <= jetstreamInURL {
		q["wantedDids"] = j.dids
	} else {
		q.Set("requireHello", "true")
	}
	q.Set("cursor", strconv.FormatInt(j.cursor, 10))
	base := j.w.Base()
	if rest, ok := strings.CutPrefix(base, "http"); ok { // https as well
		base = "ws" + rest
	}
	return base + "/subscribe?" + q.Encode()
}

// listen is one connection, up to its end.
func (j *jetstream) listen(ctx context.Context) (came bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	j.uri = j.address()
	direct := &http.Transport{DisableKeepAlives: true} // no proxy, as with all other requests
	c, _, err := websocket.Dial(ctx, j.uri, &websocket.DialOptions{HTTPClient: &http.Client{Transport: direct, Timeout: jetstreamPatience}})
	if err != nil {
		return false, fmt.Errorf("cannot connect to %q: %w", nameOf(j.uri), err)
	}
	defer c.CloseNow()
	c.SetReadLimit(jetstreamFrame)
	if err := j.hello(ctx, c); err != nil {
		return false, err
	}
	frames := make(chan []byte, jetstreamAhead)
	broken := make(chan error, 1)
	go receive(ctx, c, frames, broken)
	before := j.cursor
	err = j.collect(ctx, c, frames, broken)
	if errors.Is(err, harvest.ErrStopped) {
		c.Close(websocket.StatusNormalClosure, "")
	}
	return j.cursor != before, err
}

// hello tells the server of more authors than a URL holds.
func (j *jetstream) hello(ctx context.Context, c *websocket.Conn) error {
	if len(j.dids) <= jetstreamInURL {
		return nil
	}
	text, err := json.Marshal(map[string]any{"type": "options_update",
		"payload": map[string]any{"wantedCollections": j.collections, "wantedDids": j.dids, "maxMessageSizeBytes": 0}})
	if err != nil {
		return err
	}
	return c.Write(ctx, websocket.MessageText, text)
}

// receive reads events until the connection ends.
func receive(ctx context.Context, c *websocket.Conn, frames chan<- []byte, broken chan<- error) {
	defer close(frames)
	for {
		_, frame, err := c.Read(ctx)
		if err != nil {
			broken <- err
			return
		}
		select {
		case frames <- frame:
		case <-ctx.Done():
			broken <- ctx.Err()
			return
		}
	}
}

// collect records what comes, piece by piece; what came before the end of the connection, or
// before the harvest is to stop, as well.
func (j *jetstream) collect(ctx context.Context, c *websocket.Conn, frames <-chan []byte, broken <-chan error) error {
	flush, quiet := time.NewTicker(j.pause), time.NewTimer(jetstreamIdle)
	defer flush.Stop()
	defer quiet.Stop()
	for {
		select {
		case frame, ok := <-frames:
			if !ok {
				return errors.Join(j.flush(), <-broken)
			}
			quiet.Reset(jetstreamIdle)
			if j.hold(frame); j.held.Len() < jetstreamBytes {
				continue
			}
		case <-quiet.C:
			if err := ping(ctx, c); err != nil {
				return errors.Join(j.flush(), err)
			}
			quiet.Reset(jetstreamIdle)
			continue
		case <-flush.C:
		case <-j.w.Stopping():
			j.drain(frames)
		}
		if err := j.flush(); err != nil {
			return err
		}
		if err := j.w.Next(ctx); err != nil {
			return err
		}
	}
}

// drain takes what has come already.
func (j *jetstream) drain(frames <-chan []byte) {
	for {
		select {
		case frame, ok := <-frames:
			if !ok {
				return
			}
			j.hold(frame)
		default:
			return
		}
	}
}

func ping(ctx context.Context, c *websocket.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, jetstreamIdle)
	defer cancel()
	return c.Ping(ctx)
}

// hold takes an event. One that is known because the cursor is that of the last one is left out.
func (j *jetstream) hold(frame []byte) {
	if bytes.ContainsAny(frame, "\r\n") {
		var line bytes.Buffer
		if json.Compact(&line, frame) != nil {
			return // it is no event
		}
		frame = line.Bytes()
	}
	if bytes.Equal(frame, j.last) {
		return
	}
	j.held.Write(frame)
	j.held.WriteByte('\n')
	j.last = append(j.last[:0], frame...)
}

// flush records what is held, and then where to go on from.
func (j *jetstream) flush() error {
	if j.held.Len() == 0 {
		return nil
	}
	if err := j.w.Resource(j.uri, "application/x-ndjson", j.held.Bytes()); err != nil {
		return err
	}
	j.held.Reset()
	var e struct {
		At int64 `json:"time_us"`
	}
	if json.Unmarshal(j.last, &e) == nil && e.At > 0 {
		j.cursor = e.At
		j.w.Keep(j.key, e.At)
	}
	return nil
}
