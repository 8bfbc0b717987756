package mirror

import (
	"crypto/sha1"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"srpump/pipeline/sfm"
	"srpump/post"
)

// An Outbox takes the messages.
type Outbox interface {
	// Put leaves a message durably; the same one again is the same message.
	Put(number uint64, key, order string, headers map[string]any, body []byte) error
}

// A Place is a directory that others know under another name.
type Place struct{ Theirs, Ours string }

// A Mirror answers what a pump asks of the files it has brought.
type Mirror struct {
	Out    Outbox
	Places []Place
}

// The events of a pump that are looked at: a file under a private name, and one that is in place and
// durable (sr_hooks(7), POINTS).
const (
	fetched = "on_data"
	inPlace = "on_file"
)

// An event is what a pump asks.
type event struct {
	ID         json.RawMessage   `json:"id"`
	Event      string            `json:"event"`
	PubTime    string            `json:"pubtime"`
	File       string            `json:"file"`
	FileBase64 string            `json:"file_base64"`
	Headers    map[string]string `json:"headers"`
}

// errNoFile is a question about no file.
var errNoFile = errors.New("the event names no file")

// take verifies the file of an event and, where it is in its place, leaves the message. What is no WARC
// of SFM is let pass.
func (m *Mirror) take(e *event) error {
	if e.Event != fetched && e.Event != inPlace {
		return fmt.Errorf("%q is an event it is not for: name it at %s, or at %s as well", e.Event, inPlace, fetched)
	}
	path, err := e.path()
	if err != nil {
		return err
	}
	c, err := sfm.FromHeaders(e.Headers, m.theirs(path), 0)
	if c == nil && err == nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot tell of %q: header %w", path, err)
	}
	if c.Bytes, err = verify(path, c.SHA1); err != nil {
		return err
	}
	if e.Event == fetched {
		return nil
	}
	return m.tell(e, c)
}

// path is that of the file, whose name may be any bytes.
func (e *event) path() (string, error) {
	path := e.File
	if e.FileBase64 != "" {
		raw, err := base64.StdEncoding.DecodeString(e.FileBase64)
		if err != nil {
			return "", fmt.Errorf("cannot read file_base64: %w", err)
		}
		path = string(raw)
	}
	if !filepath.IsAbs(path) {
		return "", errNoFile
	}
	return path, nil
}

// theirs is a path as those who are told know it; the longest place that holds it counts.
func (m *Mirror) theirs(path string) string {
	best := Place{}
	for _, p := range m.Places {
		if ours := strings.TrimRight(p.Ours, "/"); (path == ours || strings.HasPrefix(path, ours+"/")) && len(ours) >= len(best.Ours) {
			best = Place{strings.TrimRight(p.Theirs, "/"), ours}
		}
	}
	return best.Theirs + strings.TrimPrefix(path, best.Ours)
}

// verify compares the checksum of a file with the one it was announced with, and tells its length.
func verify(path, sum string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, fmt.Errorf("cannot verify the WARC: %w", err)
	}
	defer f.Close()
	h := sha1.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return 0, fmt.Errorf("cannot verify the WARC: %w", err)
	}
	if got := hex.EncodeToString(h.Sum(nil)); !strings.EqualFold(got, sum) {
		return 0, fmt.Errorf("%q is not the WARC that was announced: its SHA-1 is %s, not %s", path, got, sum)
	}
	return n, nil
}

// tell leaves the message. It gets its number from the announcement, so that one that is asked about twice is
// told once as long as nobody has taken it.
func (m *Mirror) tell(e *event, c *sfm.Created) error {
	at := time.Time{}
	if t, err := post.ParseTimestamp(e.PubTime); err == nil {
		at = t.Time()
	}
	body, err := json.Marshal(c)
	if err == nil {
		err = m.Out.Put(uint64(max(0, at.UnixNano())), sfm.CreatedKey, c.WarcID, nil, body)
	}
	if err != nil {
		return fmt.Errorf("cannot tell of %q: %w", c.Path, err)
	}
	return nil
}
