package spool

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"srpump/pump/broker"
)

// A store writes messages as files. One process has it at a time.
type store struct {
	dir    string
	now    func() time.Time
	last   uint64            // arrival of the youngest name
	known  map[digest]string // names by what is in them
	enough int               // entries of known that are worth a look which of them are gone
}

// A digest stands for a message: its exchange, key, properties, headers and body.
type digest [16]byte

// A filed message is one on its way to its file.
type filed struct {
	name string
	meta []byte
	body []byte
	sum  digest
	dup  bool // there already
}

func openStore(dir string, now func() time.Time) (*store, error) {
	if err := sweep(dir); err != nil {
		return nil, fmt.Errorf("cannot clear %q: %w", dir, cause(err))
	}
	s := &store{dir: dir, now: now, known: make(map[digest]string), enough: 1 << 16}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot read %q: %w", dir, cause(err))
	}
	for _, e := range entries {
		arrival, ours := arrivalOf(e.Name())
		if ours && isMessage(e.Name()) {
			s.last = max(s.last, arrival)
		}
	}
	return s, nil
}

// arrival is the time, or a moment after the name before where the clock went back.
func (s *store) arrival() uint64 {
	s.last = max(s.last+1, uint64(max(0, s.now().UnixNano())))
	return s.last
}

// prepare names a delivery. A message is there already when it comes again unacknowledged, or under
// an id it has given itself, and its file is still there; two equal ones without an id are two.
func (s *store) prepare(d *broker.Delivery) (*filed, error) {
	m, err := metaOf(&d.Publishing)
	if err != nil {
		return nil, fmt.Errorf("cannot write the properties of a message: %w", err)
	}
	plain, err := encodeMeta(m)
	if err != nil {
		return nil, fmt.Errorf("cannot write the properties of a message: %w", err)
	}
	f := &filed{body: d.Body, sum: sumOf(plain, d.Body)}
	if d.Redelivered || d.MessageID != "" {
		if f.name, f.dup = s.find(f.sum); f.dup {
			return f, nil
		}
	}
	m.Received, m.Redelivered = s.now().UTC().Format(time.RFC3339Nano), d.Redelivered
	if f.meta, err = encodeMeta(m); err != nil {
		return nil, fmt.Errorf("cannot write the properties of a message: %w", err)
	}
	f.name = makeName(s.arrival(), d.Key, d.MessageID)
	if d.MessageID == "" {
		f.name += digestMark + hex.EncodeToString(f.sum[:])
	}
	return f, nil
}

func sumOf(meta, body []byte) (out digest) {
	h := sha256.New()
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(meta)))
	h.Write(n[:])
	h.Write(meta)
	h.Write(body)
	copy(out[:], h.Sum(nil))
	return out
}

// find is the name of a file that holds the same message.
func (s *store) find(sum digest) (string, bool) {
	name, ok := s.known[sum]
	return name, ok && s.holds(name)
}

func (s *store) holds(name string) bool {
	_, err := os.Lstat(filepath.Join(s.dir, name))
	return err == nil
}

// write makes a batch durable and visible: bodies and metas are synced under temporary names, then
// the metas get theirs, then the bodies, so that a body that is seen is whole and has its meta. After
// an error nothing of the batch is visible that was not synced, and all of it can be written again.
func (s *store) write(batch []*filed) error {
	batch = slices.DeleteFunc(slices.Clone(batch), func(f *filed) bool { return f.dup })
	if len(batch) == 0 {
		return nil
	}
	err := s.stage(batch)
	for _, suffix := range []string{metaSuffix, ""} {
		if err == nil {
			err = s.reveal(batch, suffix)
		}
	}
	if err != nil {
		s.drop(batch)
		return fmt.Errorf("cannot spool: %w", err)
	}
	for _, f := range batch {
		s.known[f.sum] = f.name
	}
	s.forget()
	return nil
}

func (s *store) temp(name string) string { return filepath.Join(s.dir, "."+name+tempSuffix) }

// stage writes a batch under temporary names and syncs it.
func (s *store) stage(batch []*filed) error {
	whole := len(batch) > wholeFrom
	for _, f := range batch {
		if err := errors.Join(writeFile(s.temp(f.name+metaSuffix), f.meta, !whole), writeFile(s.temp(f.name), f.body, !whole)); err != nil {
			return err
		}
	}
	if !whole {
		return nil
	}
	d, err := os.Open(s.dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return unix.Syncfs(int(d.Fd()))
}

// wholeFrom is the number of messages from which one sync of the file system costs less than one
// for each file.
const wholeFrom = 8

func writeFile(path string, data []byte, sync bool) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && sync {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// reveal gives the bodies, or the metas, their names.
func (s *store) reveal(batch []*filed, suffix string) error {
	for _, f := range batch {
		if err := os.Rename(s.temp(f.name+suffix), filepath.Join(s.dir, f.name+suffix)); err != nil {
			return err
		}
	}
	return SyncDir(s.dir)
}

// drop takes a batch back that could not be made durable.
func (s *store) drop(batch []*filed) {
	for _, f := range batch {
		for _, path := range []string{filepath.Join(s.dir, f.name), s.temp(f.name), filepath.Join(s.dir, f.name+metaSuffix), s.temp(f.name + metaSuffix)} {
			_ = os.Remove(path) // what stays comes again under another name
		}
	}
}

// forget keeps the memory of what was spooled to about what is still there.
func (s *store) forget() {
	if len(s.known) < s.enough {
		return
	}
	for sum, name := range s.known {
		if !s.holds(name) {
			delete(s.known, sum)
		}
	}
	s.enough = max(1<<16, 2*len(s.known))
}

// recall reads what is in the files that are there, to know what comes again after a kill.
func (s *store) recall() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("cannot read %q: %w", s.dir, cause(err))
	}
	for _, e := range entries {
		if _, ours := arrivalOf(e.Name()); !ours || !isMessage(e.Name()) {
			continue
		}
		sum, err := s.digestOf(e.Name())
		switch {
		case err == nil:
			s.known[sum] = e.Name()
		case !errors.Is(err, fs.ErrNotExist): // one that is gone was taken
			return fmt.Errorf("cannot read %q: %w", e.Name(), cause(err))
		}
	}
	return nil
}

// digestOf is the digest a file was spooled under.
func (s *store) digestOf(name string) (out digest, err error) {
	if _, id, marked := strings.Cut(name, nameSep+digestMark); marked && len(id) == 2*len(out) {
		if _, err := hex.Decode(out[:], []byte(id)); err == nil {
			return out, nil
		}
	}
	raw, err := os.ReadFile(filepath.Join(s.dir, name+metaSuffix))
	if err != nil {
		return out, err
	}
	body, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		return out, err
	}
	m, err := decodeMeta(raw)
	if err != nil {
		return out, nil // somebody else's; it equals nothing
	}
	m.Received, m.Redelivered = "", false
	plain, err := encodeMeta(m)
	return sumOf(plain, body), err
}
