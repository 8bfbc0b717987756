package fetch

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"srpump/pump/transfer"
)

// Partials is where fetches of big files leave word of how far they came, so that the next try goes on
// there, also after a kill (sr_subscribe(1), RESUMING). The zero value of all but Dir is a default.
type Partials struct {
	Dir   string        // for one flow alone; made when first needed
	Least int64         // smaller files start again; default 8 MiB
	Step  int64         // word is left each time so many bytes more have come; default 16 MiB
	Every time.Duration // or after this time, when any have; default 2 s
}

func (p *Partials) least() int64 { return orElse(p.Least, 8<<20) }

func orElse[T int64 | time.Duration](v, otherwise T) T {
	if v > 0 {
		return v
	}
	return otherwise
}

// A partial is the word left of one fetch.
type partial struct {
	leftOver
	Source  string // digest of the URL, which may hold a token
	Size    int64  // bytes of the source
	ETag    string
	ModTime time.Time
	Done    int64  // bytes that are durable
	Method  string // of the checksum; empty: none is computed
	Hash    []byte // its state after them; empty: they are to be read again
}

func (p *partial) validator() transfer.Validator {
	return transfer.Validator{ETag: p.ETag, ModTime: p.ModTime}
}

// word is the file that is about a destination.
func (p *Partials) word(t *Tree, rel string) string {
	return filepath.Join(p.Dir, digest256(t.dir+"\x00"+rel))
}

func digest256(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:20])
}

// readPartial returns nil where no word was left, or none that can be understood.
func readPartial(path string) *partial {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	p := new(partial)
	if json.Unmarshal(text, p) != nil || p.Done <= 0 || p.Done >= p.Size {
		return nil
	}
	return p
}

// unfinished ends the name of a word that is being written.
const unfinished = ".new"

// write replaces the word of before. It is durable, but for its name: after a power cut the word of
// before may be there, which is as true.
func (p *partial) write(path string) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path+unfinished, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(path+unfinished, path)
	}
	return err
}

// dropPartial takes a word back for good, before another file can get the number of the one it is about.
func dropPartial(path string) {
	if os.Remove(path) != nil {
		return
	}
	if d, err := os.Open(filepath.Dir(path)); err == nil {
		_ = d.Sync() // a word that comes back after a power cut is still held to the source
		d.Close()
	}
}

// keeps reports whether an interrupted fetch of body could go on: it is big, and its source can prove
// later that it is the same. For a file changed just now a time proves little, nor does an ETag, which SFTP and many
// web servers make of the time in seconds, unless the checksum of the whole will be looked at.
func (p *Partials) keeps(j *Job, body *transfer.Body) bool {
	if p == nil || j.Request.Offset > 0 || j.Request.Length >= 0 || body.Size < p.least() || j.HardLink && body.File != nil {
		return false
	}
	v := body.Validator
	if !j.Sum.Verifiable() && !v.ModTime.IsZero() && time.Since(v.ModTime) <= 2*time.Second {
		return false
	}
	return v.Proves(v)
}
