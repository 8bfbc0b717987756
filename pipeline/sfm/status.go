package sfm

import (
	"encoding/json"
	"fmt"
)

// The words of Status.Status and ExportStatus.Status. The contract knows running and the two
// completed; stopping and paused are for requesters that know them.
const (
	Running  = "running"
	Stopping = "stopping"
	Paused   = "paused"
	Success  = "completed success"
	Failure  = "completed failure"
)

// The codes of notes.
const (
	UnknownError   = "unknown_error"
	BadRequest     = "bad_request"
	PersistError   = "msg_persist_error"
	HarvestResumed = "harvest_resumed"
	WarcUnreadable = "warc_unreadable"
	WarcMissing    = "warc_missing"
	NoWarcs        = "no_warcs"
	UnknownFormat  = "unsupported_export_format"
)

// A Note is something a requester should know: of a code that programs understand, in words that
// people do, and of which seed, or "".
type Note struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	SeedID  string `json:"seed_id,omitempty"`
}

// Stats count items: by the day they were harvested, as YYYY-MM-DD, then by label.
type Stats map[string]map[string]int64

// Add counts n more items of a day.
func (s Stats) Add(day, label string, n int64) {
	if s[day] == nil {
		s[day] = map[string]int64{}
	}
	s[day][label] += n
}

// Warcs are how many WARC files were made, and their bytes.
type Warcs struct {
	Count int64 `json:"count"`
	Bytes int64 `json:"bytes"`
}

// A Status is a harvest status message. Its counts are those of the whole harvest so far; token
// updates and uids are by seed id, and told once.
type Status struct {
	ID           string            `json:"id"`
	Status       string            `json:"status"`
	Started      Time              `json:"date_started"`
	Ended        Time              `json:"date_ended,omitzero"`
	Infos        []Note            `json:"infos"`
	Warnings     []Note            `json:"warnings"`
	Errors       []Note            `json:"errors"`
	Stats        Stats             `json:"stats"`
	TokenUpdates map[string]string `json:"token_updates"`
	UIDs         map[string]string `json:"uids"`
	Warcs        Warcs             `json:"warcs"`
	Service      string            `json:"service,omitempty"` // the name of the harvester
	Host         string            `json:"host,omitempty"`
	Instance     string            `json:"instance,omitempty"` // the process id
}

// ParseStatus reads a harvest status message. The error is a *SyntaxError or a *MemberError.
func ParseStatus(data []byte) (*Status, error) {
	var s Status
	err := decode(data, &s)
	if err == nil {
		err = begun(s.ID, s.Status, s.Started)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the harvest status message: %w", err)
	}
	return &s, nil
}

// begun names what every status must have.
func begun(id, status string, started Time) error {
	switch {
	case id == "":
		return missing("id")
	case status == "":
		return missing("status")
	case started.IsZero():
		return missing("date_started")
	}
	return nil
}

// MarshalJSON is the message; what is not there is empty, not null.
func (s Status) MarshalJSON() ([]byte, error) {
	type wire Status
	w := wire(s)
	w.Infos, w.Warnings, w.Errors = list(s.Infos), list(s.Warnings), list(s.Errors)
	if w.Stats == nil {
		w.Stats = Stats{}
	}
	if w.TokenUpdates == nil {
		w.TokenUpdates = map[string]string{}
	}
	if w.UIDs == nil {
		w.UIDs = map[string]string{}
	}
	return json.Marshal(w)
}

func list(notes []Note) []Note {
	if notes == nil {
		return []Note{}
	}
	return notes
}

// An ExportStatus is an export status message.
type ExportStatus struct {
	ID       string `json:"id"`
	Status   string `json:"status"`
	Started  Time   `json:"date_started"`
	Ended    Time   `json:"date_ended,omitzero"`
	Infos    []Note `json:"infos"`
	Warnings []Note `json:"warnings"`
	Errors   []Note `json:"errors"`
	Service  string `json:"service,omitempty"`
	Host     string `json:"host,omitempty"`
	Instance string `json:"instance,omitempty"`
}

// ParseExportStatus reads an export status message. The error is a *SyntaxError or a
// *MemberError.
func ParseExportStatus(data []byte) (*ExportStatus, error) {
	var s ExportStatus
	err := decode(data, &s)
	if err == nil {
		err = begun(s.ID, s.Status, s.Started)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the export status message: %w", err)
	}
	return &s, nil
}

// MarshalJSON is the message; what is not there is empty, not null.
func (s ExportStatus) MarshalJSON() ([]byte, error) {
	type wire ExportStatus
	w := wire(s)
	w.Infos, w.Warnings, w.Errors = list(s.Infos), list(s.Warnings), list(s.Errors)
	return json.Marshal(w)
}
