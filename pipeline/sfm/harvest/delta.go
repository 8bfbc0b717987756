package harvest

import (
	"encoding/json"
	"maps"

	"srpump/pipeline/sfm"
)

// A Window is how far a walk from the newest to the oldest has come. Since is what an earlier walk
// has reached the end of: everything down from there is there. Top is the newest of this walk, Cursor
// where it goes on. Only a walk that has come to its end makes Top the next Since; one that is
// interrupted goes on at Cursor. A Cursor that is refused means to begin again at the top: things
// come twice then, but none is left out.
type Window struct {
	Since  string `json:"since,omitempty"`
	Top    string `json:"top,omitempty"`
	Cursor string `json:"cursor,omitempty"`
	Open   bool   `json:"open,omitempty"`
}

// Closed is the window of a walk that has come to its end.
func (w Window) Closed() Window {
	if w.Top == "" {
		return Window{Since: w.Since}
	}
	return Window{Since: w.Top}
}

// A delta is what has changed, and is to be durable together with the records it speaks of.
type delta struct {
	State        map[string]json.RawMessage `json:"state,omitempty"`
	Windows      map[string]Window          `json:"windows,omitempty"`
	UIDs         map[string]string          `json:"uids,omitempty"`
	TokenUpdates map[string]string          `json:"token_updates,omitempty"`
	Infos        []sfm.Note                 `json:"infos,omitempty"`
	Warnings     []sfm.Note                 `json:"warnings,omitempty"`
}

func (d *delta) empty() bool {
	return len(d.State)+len(d.Windows)+len(d.UIDs)+len(d.TokenUpdates)+len(d.Infos)+len(d.Warnings) == 0
}

// add puts a later delta on top.
func (d *delta) add(next delta) {
	d.State = merged(d.State, next.State)
	d.Windows = merged(d.Windows, next.Windows)
	d.UIDs = merged(d.UIDs, next.UIDs)
	d.TokenUpdates = merged(d.TokenUpdates, next.TokenUpdates)
	d.Infos = append(d.Infos, next.Infos...)
	d.Warnings = append(d.Warnings, next.Warnings...)
}

func merged[V any](to, from map[string]V) map[string]V {
	if to == nil && len(from) > 0 {
		to = make(map[string]V, len(from))
	}
	maps.Copy(to, from)
	return to
}
