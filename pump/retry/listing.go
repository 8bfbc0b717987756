package retry

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"srpump/post"
)

// A Listed is one entry as people see it.
type Listed struct {
	Path  string    `json:"path"`           // relpath; of a message that was never understood, its first line
	Base  string    `json:"base,omitempty"` // srcpath
	Why   string    `json:"why"`            // it failed last
	Class Class     `json:"class,omitempty"`
	Tries int       `json:"tries"`
	Since time.Time `json:"since"`         // the first failure; of a dead letter, when it was given up
	Next  time.Time `json:"next,omitzero"` // when it is due; zero for a dead letter
	Dead  bool      `json:"dead"`
}

// List reads what waits in the queue in dir, in the order of the file, and then what was given up,
// the oldest first. It takes no lock and may be called while a process works on the queue;
// lines it cannot read are left out. What was killed while it gave something up may have left it in both, or
// give it up again: it is listed once.
func List(dir string) ([]Listed, error) {
	var list []Listed
	at := make(map[id]int)
	err := readWhole(filepath.Join(dir, queueFile), func(line []byte) {
		a, s, done, err := decodeLine(line)
		if err != nil {
			return
		}
		key := idOf(a)
		if old, there := at[key]; there {
			list[old].Path = ""
			delete(at, key)
		}
		if !done {
			at[key] = len(list)
			list = append(list, Listed{Path: a.Path, Base: a.Base, Why: s.why, Class: s.class, Tries: s.tries, Since: s.since, Next: s.after})
		}
	})
	if err != nil {
		return nil, err
	}
	dead := make(map[id]int)
	for _, file := range deadLetterFiles(dir) {
		if err := readWhole(file, func(line []byte) {
			l, a, err := decodeDead(line)
			if err != nil {
				return
			}
			if a != nil {
				key := idOf(a)
				if _, waits := at[key]; waits {
					return
				}
				if old, there := dead[key]; there {
					list[old].Path = ""
				}
				dead[key] = len(list)
			}
			list = append(list, l)
		}); err != nil {
			return nil, err
		}
	}
	live := list[:0]
	for _, l := range list {
		if l.Path != "" {
			live = append(live, l)
		}
	}
	return live, nil
}

func deadLetterFiles(dir string) []string {
	return []string{filepath.Join(dir, deadLetterFile+".1"), filepath.Join(dir, deadLetterFile)}
}

// readWhole passes on the lines of a file that are ended; one that is missing has none.
func readWhole(name string, fn func(line []byte)) error {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	s := &store{file: f}
	err = s.read(func(_ int64, line []byte) error {
		if len(line) > 0 {
			fn(bytes.Clone(line))
		}
		return nil
	})
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// decodeDead reads a line of the dead-letter file; a is nil for a message that cannot be understood.
func decodeDead(line []byte) (l Listed, a *post.Announcement, err error) {
	var rec struct {
		deadLetter
		Headers json.RawMessage `json:"headers"`
	}
	if err := json.Unmarshal(line, &rec); err != nil {
		return l, nil, err
	}
	l = Listed{Why: rec.Why, Tries: rec.Tries, Dead: true, Path: rec.Body}
	if t, err := post.ParseTimestamp(rec.Time); err == nil {
		l.Since = t.Time()
	}
	if rec.Notice == nil {
		return l, nil, nil
	}
	l.Path = strings.TrimSpace(*rec.Notice)
	message, err := json.Marshal([]any{rec.Topic, rec.Headers, *rec.Notice})
	if err != nil {
		return l, nil, err
	}
	if a, _, _, err = decodeLine(message); err != nil {
		return l, nil, nil
	}
	l.Path, l.Base = a.Path, a.Base
	return l, a, nil
}

// Matches reports whether a path is meant by one of the patterns, or there are none. A pattern, of
// the form of path.Match, means a whole path, its last name, or a directory and all below it.
func Matches(patterns []string, rel string) bool {
	if len(patterns) == 0 {
		return true
	}
	for _, p := range patterns {
		p = strings.Trim(p, "/")
		for name := strings.Trim(rel, "/"); name != "." && name != ""; name = path.Dir(name) {
			if ok, _ := path.Match(p, name); ok || p == name {
				return true
			}
		}
		if ok, _ := path.Match(p, path.Base(rel)); ok {
			return true
		}
	}
	return false
}

// Export writes what waits in dir in the form the Python tools read: one announcement a line, without
// the bookkeeping of ours. It takes no lock.
func Export(dir string, w io.Writer, patterns []string) (n int, err error) {
	lines := make(map[id][]byte)
	var order []id
	err = readWhole(filepath.Join(dir, queueFile), func(line []byte) {
		a, _, done, bad := decodeLine(line)
		if bad != nil {
			return
		}
		key := idOf(a)
		delete(lines, key)
		if done || !Matches(patterns, a.Path) {
			return
		}
		if out, bad := exported(a); bad == nil {
			lines[key] = out
			order = append(order, key)
		}
	})
	for _, key := range order {
		out, there := lines[key]
		if !there || err != nil {
			continue
		}
		delete(lines, key)
		if _, err = w.Write(out); err == nil {
			n++
		}
	}
	return n, err
}

// exported is the line for the Python tools: as on the wire, with the texts too long for it besides. What
// only v03 can carry they could not send on.
func exported(a *post.Announcement) ([]byte, error) {
	short := a.Clone()
	maps.DeleteFunc(short.Headers, tooLong)
	m, err := post.EncodeV02(short)
	if err != nil {
		return nil, err
	}
	for k, v := range a.Headers {
		if tooLong(k, v) {
			m.Headers[k] = v
		}
	}
	return marshalLine(m)
}

// tooLong reports whether a header has no room on the wire, and no other place there.
func tooLong(name string, v any) bool {
	s, is := v.(string)
	return is && len(s) > post.MaxHeader && name != post.HeaderRetrievePath
}
