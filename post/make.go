package post

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"srpump/partition"
)

// LocalBase is the srcpath of files of this host, announced by absolute path.
const LocalBase = "file:"

// A Maker makes announcements of the files of one host. Its fields are what an
// operator decides once; every method takes the time of posting.
type Maker struct {
	BaseURL string // srcpath; LocalBase sends absolute paths
	BaseDir string // taken off the front of paths, at a whole component

	Prefix   string // of the topic; DefaultPrefix when empty
	Subtopic string // the words after the prefix, in place of the path's
	DirsOnly bool   // the topic ends with the directory, not the file's name

	Rename   string                  // header rename: a name, or a directory when it ends with a slash
	Strip    func(rel string) string // makes the header rename from the path, when set
	Headers  map[string]string       // on every announcement
	KeepMode bool                    // send the permission bits
	KeepTime bool                    // send modification and access times
}

// File announces the file at the absolute path p, or one block of it.
func (m *Maker) File(p string, fi fs.FileInfo, sum Fingerprint, b partition.Block, now time.Time) (*Announcement, error) {
	a, err := m.announce(p, now)
	if err != nil {
		return nil, err
	}
	a.Sum, a.Block = sum, b
	if m.KeepTime {
		a.Headers[HeaderMtime] = FormatTime(fi.ModTime())
		if at, ok := accessTime(fi); ok {
			a.Headers[HeaderAtime] = FormatTime(at)
		}
	}
	if m.KeepMode {
		a.Headers[HeaderMode] = strconv.FormatUint(uint64(permissions(fi.Mode())), 8)
	}
	return a, nil
}

// Link announces the symbolic link at p whose text is target.
func (m *Maker) Link(p, target string, now time.Time) (*Announcement, error) {
	a, err := m.announce(p, now)
	if err != nil {
		return nil, err
	}
	a.Sum = OfLink(target)
	a.Headers[HeaderLink] = target
	if len(target) > MaxHeader {
		return nil, fmt.Errorf("cannot announce link %q: %w", p, ErrTooLong)
	}
	return a, nil
}

// Removal announces that p is gone.
func (m *Maker) Removal(p string, now time.Time) (*Announcement, error) {
	a, err := m.announce(p, now)
	if err != nil {
		return nil, err
	}
	a.Sum = OfRemoval(path.Base(p))
	return a, nil
}

// Directory announces that the directory at p was made, or removed: method is SumMkdir or SumRmdir.
func (m *Maker) Directory(p, method string, now time.Time) (*Announcement, error) {
	a, err := m.announce(p, now)
	if err != nil {
		return nil, err
	}
	a.Sum = OfDirectory(method, a.Path)
	return a, nil
}

// Moved makes a one half of the announcement of a move: name is HeaderNewname with the
// removal, HeaderOldname with the file or link; other is the path it names. Where either of the two paths
// has no room in a header, or could not be read there, it does nothing, so that both halves stand alone.
func (m *Maker) Moved(a *Announcement, name, other string) {
	rel := m.Rel(other)
	if m.BaseURL == LocalBase {
		rel = other
	}
	for _, path := range []string{rel, a.Path} {
		if path == "" || len(path) > MaxHeader || !utf8.ValidString(path) {
			return
		}
	}
	a.SetHeader(name, rel)
}

// Rel is the relpath of the absolute path p: without BaseDir when p lies below it, "" for
// BaseDir itself.
func (m *Maker) Rel(p string) string {
	base := strings.TrimRight(m.BaseDir, "/")
	if base == "" {
		return p
	}
	if p == base {
		return ""
	}
	if rest, ok := strings.CutPrefix(p, base+"/"); ok {
		return strings.TrimLeft(rest, "/")
	}
	return p
}

func (m *Maker) announce(p string, now time.Time) (*Announcement, error) {
	rel := m.Rel(p)
	if strings.Trim(rel, "/") == "" {
		return nil, fmt.Errorf("cannot announce %q: %w", p, errors.New("it is the base directory itself"))
	}
	a := &Announcement{Time: At(now), Base: m.BaseURL, Path: rel, Topic: m.topic(rel), Headers: make(map[string]any, len(m.Headers)+6)}
	if m.BaseURL == LocalBase {
		a.Path = p
	}
	for k, v := range m.Headers {
		a.Headers[k] = v
	}
	if name := m.rename(rel); name != "" {
		a.Headers[HeaderRename] = name
	}
	return a, nil
}

func (m *Maker) topic(rel string) string {
	prefix := m.Prefix
	if prefix == "" {
		prefix = DefaultPrefix
	}
	if m.Subtopic != "" {
		return cleanTopic(prefix + "." + m.Subtopic)
	}
	return MakeTopic(prefix, rel, !m.DirsOnly)
}

// rename is sent with the name filled in, for a peer makes nothing of a directory alone.
func (m *Maker) rename(rel string) string {
	if strings.HasSuffix(m.Rename, "/") {
		return m.Rename + path.Base(rel)
	}
	if m.Rename != "" {
		return m.Rename
	}
	if m.Strip == nil {
		return ""
	}
	return "/" + strings.TrimLeft(m.Strip(rel), "/")
}

// permissions are the bits of 07777.
func permissions(m fs.FileMode) uint32 {
	p := uint32(m.Perm())
	if m&fs.ModeSetuid != 0 {
		p |= 0o4000
	}
	if m&fs.ModeSetgid != 0 {
		p |= 0o2000
	}
	if m&fs.ModeSticky != 0 {
		p |= 0o1000
	}
	return p
}
