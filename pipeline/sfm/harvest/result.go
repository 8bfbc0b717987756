package harvest

import (
	"encoding/json"
	"maps"
	"slices"

	"srpump/pipeline/sfm"
)

// A result is what is told of a harvest so far (sfm_spool(5), result.json).
type result struct {
	Started  sfm.Time   `json:"started"`
	Warcs    []string   `json:"warcs"` // paths as messages have them
	Bytes    int64      `json:"warc_bytes"`
	Stats    sfm.Stats  `json:"stats"`
	Infos    []sfm.Note `json:"infos"`
	Warnings []sfm.Note `json:"warnings"`
	Errors   []sfm.Note `json:"errors"`
	// UIDs and TokenUpdates were not told yet.
	UIDs         map[string]string `json:"uids,omitempty"`
	TokenUpdates map[string]string `json:"token_updates,omitempty"`
	Commits      int               `json:"commits"` // done
	Number       uint64            `json:"number"`  // of the last message
	// Tail are digests of the items that were recorded since the state was last kept: when the walk
	// goes on they come once more, and are not counted twice.
	Tail []string `json:"tail,omitempty"`
}

// with is a copy to which a delta is added.
func (r *result) with(d delta) result {
	next := *r
	next.Stats = make(sfm.Stats, len(r.Stats))
	for day, counts := range r.Stats {
		next.Stats[day] = maps.Clone(counts)
	}
	next.Warcs = slices.Clip(r.Warcs)
	next.Infos, next.Warnings = noted(r.Infos, d.Infos), noted(r.Warnings, d.Warnings)
	next.UIDs = merged(maps.Clone(r.UIDs), d.UIDs)
	next.TokenUpdates = merged(maps.Clone(r.TokenUpdates), d.TokenUpdates)
	return next
}

// noted adds notes, each of which is said once, however often it was tried.
func noted(notes, more []sfm.Note) []sfm.Note {
	notes = slices.Clip(notes)
	for _, n := range more {
		if !slices.Contains(notes, n) {
			notes = append(notes, n)
		}
	}
	return notes
}

// told is the result once a status was sent.
func (r *result) told(number uint64) { r.UIDs, r.TokenUpdates, r.Number = nil, nil, number }

// A message is one that is to be put out, with all that makes it the same when it is put out again.
type message struct {
	Number  uint64         `json:"number"`
	Key     string         `json:"key"`
	Order   string         `json:"order"`
	Headers map[string]any `json:"headers,omitempty"`
	Body    string         `json:"body"`
}

// put hands messages to an outbox.
func put(to Outbox, messages ...message) error {
	for _, m := range messages {
		if err := to.Put(m.Number, m.Key, m.Order, m.Headers, []byte(m.Body)); err != nil {
			return &PersistError{err}
		}
	}
	return nil
}

// status makes the message of a status and notes that it was told.
func (h *harvest) status(r *result, word string) (message, error) {
	s := sfm.Status{ID: h.start.ID, Status: word, Started: r.Started, Infos: r.Infos, Warnings: r.Warnings, Errors: r.Errors,
		Stats: r.Stats, UIDs: r.UIDs, TokenUpdates: r.TokenUpdates, Warcs: sfm.Warcs{Count: int64(len(r.Warcs)), Bytes: r.Bytes},
		Host: h.o.Host, Instance: h.o.Instance}
	if h.kind != nil {
		s.Service = h.kind.Service
	}
	if word == sfm.Success || word == sfm.Failure {
		s.Ended = sfm.At(h.o.Now())
		if s.Ended.Before(s.Started.Time) { // the clock went back
			s.Ended = s.Started
		}
	}
	m := h.message(r.Number, sfm.StatusKey(h.key), h.start.ID)
	body, err := json.Marshal(s)
	if err != nil {
		return m, err
	}
	m.Body = string(body)
	r.told(m.Number)
	return m, nil
}

// message is one behind the number before.
func (h *harvest) message(before uint64, key, order string) message {
	return message{Number: h.o.Out.Next(before + 1), Key: key, Order: order}
}

// word is what a requester understands of a status.
func (h *harvest) word(status string) string {
	if !h.o.Paused && (status == sfm.Stopping || status == sfm.Paused) {
		return sfm.Running
	}
	return status
}
