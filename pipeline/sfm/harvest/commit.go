package harvest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"srpump/pipeline/sfm"
	"srpump/pipeline/spool"
)

const commitSuffix = ".commit.json"

// A commit is a commit record: a WARC, or state alone, on its way into the collection, and everything
// that is left to be done then (sfm_spool(5), commit record).
type commit struct {
	Commit  int                        `json:"commit"` // from 1
	Warc    *warcFile                  `json:"warc,omitempty"`
	Module  string                     `json:"module"`
	State   map[string]json.RawMessage `json:"state,omitempty"`
	Windows map[string]Window          `json:"windows,omitempty"`
	// Links go out before the file moves, Messages and Announcement behind.
	Links        []message `json:"links,omitempty"`
	Messages     []message `json:"messages,omitempty"`
	Announcement *message  `json:"announcement,omitempty"`
	Result       result    `json:"result"` // after it
}

// A warcFile is the WARC of a commit.
type warcFile struct {
	Name  string   `json:"name"`
	Dest  string   `json:"dest"` // in the collection, with slashes
	ID    string   `json:"id"`
	SHA1  string   `json:"sha1"`
	MD5   string   `json:"md5"`
	Bytes int64    `json:"bytes"`
	Date  sfm.Time `json:"date_created"`
}

// A closed WARC is one that waits to be committed.
type closed struct {
	name  string // "" is state alone
	delta delta
	at    int64 // length of the WARC of which the last change speaks
}

// commit writes the record of a closed WARC, and does what it says.
func (h *harvest) commit(w closed) error {
	c, err := h.plan(w)
	if err != nil {
		return &PersistError{err}
	}
	h.o.At("record")
	if err := replaceJSON(h.recordPath(c), c); err != nil {
		return &PersistError{err}
	}
	return h.redo(c)
}

func (h *harvest) recordPath(c *commit) string {
	return filepath.Join(h.dir, fmt.Sprintf("%06d%s", c.Commit, commitSuffix))
}

// plan is everything that a commit is to do.
func (h *harvest) plan(w closed) (*commit, error) {
	c := &commit{Commit: h.result.Commits + 1, Module: h.kind.Module, State: w.delta.State, Windows: w.delta.Windows, Result: h.result.with(w.delta)}
	c.Result.Commits = c.Commit
	if w.name == "" {
		return c, nil
	}
	seen := make(map[string]bool, len(h.result.Tail))
	for _, digest := range h.result.Tail {
		seen[digest] = true
	}
	s, err := h.look(filepath.Join(h.dir, w.name), seen, w.at)
	if err != nil {
		return nil, err
	}
	c.Result.Tail = s.tail
	for _, digest := range h.result.Tail {
		if !s.came[digest] && len(c.Result.Tail) < longestTail {
			c.Result.Tail = append(c.Result.Tail, digest) // it is still to come
		}
	}
	if s.damage != "" {
		c.Result.Warnings = append(c.Result.Warnings, sfm.Note{Code: sfm.WarcUnreadable, Message: "not all of " + w.name + " can be read: " + s.damage})
	}
	if s.count > 0 {
		c.Result.Stats.Add(h.today(), h.label(), s.count)
	}
	c.Warc = &warcFile{Name: w.name, Dest: destination(w.name), ID: derived(h.start.ID, w.name), SHA1: s.sha1, MD5: s.md5, Bytes: s.bytes, Date: sfm.At(h.o.Now())}
	c.Result.Warcs = append(c.Result.Warcs, path.Join(h.start.Path, c.Warc.Dest))
	c.Result.Bytes += s.bytes
	return c, h.letters(c, s)
}

// destination is where in a collection a WARC belongs: by the hour in its name.
func destination(name string) string {
	for i := 0; i+19 <= len(name); i++ {
		stamp := name[i+1 : i+18]
		if name[i] == '-' && name[i+18] == '-' && strings.Trim(stamp, "0123456789") == "" {
			return path.Join(stamp[:4], stamp[4:6], stamp[6:8], stamp[8:10], name)
		}
	}
	return name
}

// letters are the messages of a commit, in the order of their numbers.
func (h *harvest) letters(c *commit, s *survey) (err error) {
	if c.Links, err = h.webStarts(&c.Result, c.Warc.Name, s.links); err != nil {
		return err
	}
	created := sfm.Created{WarcID: c.Warc.ID, Path: path.Join(h.start.Path, c.Warc.Dest), SHA1: c.Warc.SHA1, Bytes: c.Warc.Bytes, Date: c.Warc.Date,
		CollectionSet: h.start.CollectionSet, Collection: h.start.Collection, HarvestID: h.start.ID, HarvestType: h.start.Type}
	body, err := json.Marshal(created)
	if err != nil {
		return err
	}
	m := h.message(c.Result.Number, sfm.CreatedKey, h.start.ID)
	m.Body, c.Result.Number = string(body), m.Number
	status, err := h.status(&c.Result, h.word(h.phase()))
	if err != nil {
		return err
	}
	c.Messages = []message{m, status}
	if h.o.Announce != nil {
		c.Announcement, err = h.o.Announce.message(&created, c.Warc.MD5, h.o.local(created.Path))
	}
	return err
}

// redo does what a commit record says, as far as it was not done; the contract's order of steps.
func (h *harvest) redo(c *commit) error {
	h.o.At("links")
	if err := put(h.o.Out, c.Links...); err != nil {
		return err
	}
	h.o.At("move")
	if err := h.move(c.Warc); err != nil {
		return &PersistError{err}
	}
	h.o.At("state")
	if err := writeState(h.collection, c.Module, c.State, c.Windows); err != nil {
		return &PersistError{err}
	}
	h.o.At("created")
	for i, m := range c.Messages {
		if i > 0 {
			h.o.At("status")
		}
		if err := put(h.o.Out, m); err != nil {
			return err
		}
	}
	if c.Announcement != nil && h.o.Announce != nil {
		h.o.At("announce")
		if err := put(h.o.Announce.Out, *c.Announcement); err != nil {
			return err
		}
	}
	h.o.At("result")
	if err := replaceJSON(filepath.Join(h.dir, resultName), c.Result); err != nil {
		return &PersistError{err}
	}
	h.o.At("forget")
	h.result = c.Result
	return h.forget(c)
}

// forget removes the record of a commit that is done, and the journal of its WARC.
func (h *harvest) forget(c *commit) error {
	if c.Warc != nil {
		h.log.Info("harvested", "harvest", h.start.ID, "warc", c.Warc.Dest, "bytes", c.Warc.Bytes, "sha1", c.Warc.SHA1)
		if err := gone(filepath.Join(h.dir, c.Warc.Name+journalSuffix)); err != nil {
			return &PersistError{err}
		}
	}
	if err := errors.Join(gone(h.recordPath(c)), spool.SyncDir(h.dir)); err != nil {
		return &PersistError{err}
	}
	return nil
}

func gone(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// move brings the WARC to its place. When it is not here it was moved before the process was killed; who was
// told of it may have taken it away since.
func (h *harvest) move(w *warcFile) error {
	if w == nil {
		return nil
	}
	from, to := filepath.Join(h.dir, w.Name), filepath.Join(h.collection, filepath.FromSlash(w.Dest))
	if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
		if err := spool.SyncDir(filepath.Dir(to)); !errors.Is(err, fs.ErrNotExist) { // who moved it may not have come to that
			return err
		}
		return nil
	}
	if err := makeDirs(h.collection, filepath.Dir(to)); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return errors.Join(spool.SyncDir(filepath.Dir(to)), spool.SyncDir(h.dir))
}

// makeDirs makes the directories from a root down to dir, each durable.
func makeDirs(root, dir string) error {
	if _, err := os.Stat(dir); err == nil || dir == root {
		return err
	}
	if err := makeDirs(root, filepath.Dir(dir)); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o775); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return spool.SyncDir(filepath.Dir(dir))
}
