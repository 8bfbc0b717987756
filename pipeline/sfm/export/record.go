package export

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"srpump/pipeline/sfm"
	"srpump/pipeline/spool"
)

// A record is how an export has ended, kept before anything follows from it: what is left to be done is
// done from it as often as it takes, and comes out the same.
type record struct {
	ID      string          `json:"id"`
	Request string          `json:"request"` // digest of the message
	Outcome Outcome         `json:"outcome"`
	Temp    string          `json:"temp,omitempty"` // where the export was made; "" when nothing was
	Dir     string          `json:"path,omitempty"` // where it belongs
	Inode   uint64          `json:"inode,omitempty"`
	Number  uint64          `json:"number"` // of the last status
	Key     string          `json:"key"`
	Status  json.RawMessage `json:"status"`
}

// digestOf tells one request from another of the same id.
func digestOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// recordPath is where the record of an export is kept.
func recordPath(dir, id string) string {
	return filepath.Join(dir, sfm.SafeName(id)+"-"+digestOf([]byte(id))[:8]+".json")
}

// recall is the record of a request; nil when it was not answered yet.
func recall(dir, id string, body []byte) (*record, error) {
	if dir == "" {
		return nil, nil
	}
	data, err := os.ReadFile(recordPath(dir, id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var r record
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil || r.Request != digestOf(body) {
		return nil, err
	}
	return &r, nil
}

// keep makes a record durable.
func (r *record) keep(dir string) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o775); err != nil {
		return err
	}
	return spool.Replace(recordPath(dir, r.ID), append(data, '\n'), 0o664)
}
