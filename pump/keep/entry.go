package keep

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// An Entry is one file as it was installed: what differs now was changed by somebody else.
type Entry struct {
	Root string // absolute directory
	Path string // below Root, slash-separated
	Size int64  // bytes
	// Mtime is the time of the contents, Installed when the age begins.
	Mtime, Installed time.Time
	// Again says that the file was due before, and given its time once more.
	Again bool
}

var errLine = errors.New("it is no entry")

// line is an entry as it is written. Names are quoted, so that a line cut short by a crash
// cannot be taken for another name.
func (e Entry) line() string {
	return fmt.Sprintf("%d %d %d %t %q %q\n", e.Installed.Unix(), e.Size, e.Mtime.UnixNano(), e.Again, e.Root, e.Path)
}

// parse reads a line without its end.
func parse(line string) (e Entry, err error) {
	f := strings.SplitN(line, " ", 5)
	if len(f) < 5 {
		return e, errLine
	}
	var n [3]int64
	for i := range n {
		if n[i], err = strconv.ParseInt(f[i], 10, 64); err != nil {
			return e, errLine
		}
	}
	if e.Again, err = strconv.ParseBool(f[3]); err != nil {
		return e, errLine
	}
	e.Installed, e.Size, e.Mtime = time.Unix(n[0], 0), n[1], time.Unix(0, n[2])
	root, err := strconv.QuotedPrefix(f[4])
	if err != nil {
		return e, errLine
	}
	name, ok := strings.CutPrefix(f[4][len(root):], " ")
	if e.Root, err = strconv.Unquote(root); err != nil || !ok {
		return e, errLine
	}
	if e.Path, err = strconv.Unquote(name); err != nil {
		return e, errLine
	}
	return e, nil
}
