package pump

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"srpump/post"
)

// A Place is where a file goes: Path, slash-separated and clean, below Root, an
// absolute directory the announcement had no say in.
type Place struct {
	Root string
	Path string
}

// Full is the place as one absolute path.
func (p Place) Full() string { return filepath.Join(p.Root, filepath.FromSlash(p.Path)) }

// A Placement turns announcements into places: strip, flatten, filename, mirror,
// directory, in this order (sr_options(5), directory).
type Placement struct {
	Cwd     string // directories that are not absolute are below it
	BaseDir string // ${BD}, ${DR}
	PostDir string // ${PBD}, ${PDR}
	Root    string // when set, all directories are below it
	Now     func() time.Time

	mu       sync.Mutex
	patterns map[string]*regexp.Regexp // of strip, compiled once
}

// Place places the file that wants to be called suggested (see
// post.Retrieval). The error wraps post.ErrDestination when the result would
// leave the directory.
func (p *Placement) Place(a *post.Announcement, c *Choice, suggested string) (Place, error) {
	s, err := p.Steps(a, c, suggested)
	return s.Place, err
}

// Steps are what a placement comes to, one after the other.
type Steps struct {
	Stripped  string // the suggested path after strip
	Flattened string // the name after flatten
	Named     string // the name after filename
	Mirrored  string // the directories kept, with a slash behind; empty without mirror
	Directory string // with dates and the like filled in
	Place     Place
}

// Steps is Place, step by step. With an error, the steps before it are filled in.
func (p *Placement) Steps(a *post.Announcement, c *Choice, suggested string) (s Steps, err error) {
	if s.Stripped, err = p.strip(c.Capture.Strip, suggested); err != nil {
		return s, err
	}
	dir, name := path.Split(s.Stripped)
	if f := c.Capture.Flatten; f != "/" && f != "" {
		name = strings.ReplaceAll(s.Stripped, "/", f)
	}
	s.Flattened = name
	if s.Named, err = p.name(a, c, name); err != nil {
		return s, err
	}
	if c.Capture.Mirror {
		s.Mirrored = dir
	}
	root, late := p.split(c.Capture.Directory)
	late = p.substitute(late, a, c.Groups)
	s.Directory = path.Join(root, late)
	within, err := post.Within(path.Join("/", late, s.Mirrored) + "/" + s.Named)
	if err != nil || escapes(late) {
		return s, fmt.Errorf("%w: %.80q", post.ErrDestination, late+"/"+s.Mirrored+s.Named)
	}
	s.Place = Place{Root: root, Path: within}
	return s, nil
}

// escapes reports whether substituted text climbs; it is refused, not cleaned away.
func escapes(late string) bool {
	for _, e := range strings.Split(late, "/") {
		if e == ".." {
			return true
		}
	}
	return false
}

// strip removes so many leading directories, or the first match of a pattern; the
// name always stays.
func (p *Placement) strip(how, rel string) (string, error) {
	if how == "" || how == "0" {
		return rel, nil
	}
	if n, err := strconv.Atoi(how); err == nil {
		elems := strings.Split(rel, "/")
		return strings.Join(elems[min(n, len(elems)-1):], "/"), nil
	}
	re, err := p.pattern(how)
	if err != nil {
		return "", err
	}
	out := rel
	if at := re.FindStringIndex(rel); at != nil {
		out = strings.Trim(rel[:at[0]]+rel[at[1]:], "/")
	}
	if out == "" || strings.HasSuffix(rel, "/") {
		out = path.Base(rel)
	}
	return out, nil
}

func (p *Placement) pattern(text string) (*regexp.Regexp, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if re, ok := p.patterns[text]; ok {
		return re, nil
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("cannot use strip %q: %w", text, brokenPattern(text))
	}
	if p.patterns == nil {
		p.patterns = make(map[string]*regexp.Regexp)
	}
	p.patterns[text] = re
	return re, nil
}

// split cuts a directory into the part that is fixed, made absolute, and the
// part that depends on the announcement or the date.
func (p *Placement) split(directory string) (root, late string) {
	if strings.Contains(directory, "${") {
		directory = strings.NewReplacer("${BD}", p.BaseDir, "${DR}", p.BaseDir, "${PBD}", p.PostDir, "${PDR}", p.PostDir).Replace(directory)
	}
	if p.Root != "" {
		return p.Root, directory
	}
	root = directory
	if i := strings.Index(directory, "${"); i >= 0 {
		cut := strings.LastIndexByte(directory[:i], '/') + 1
		root, late = directory[:cut], directory[cut:]
	}
	if !filepath.IsAbs(root) {
		root = filepath.Join(p.Cwd, root)
	}
	return filepath.Clean(root), late
}

// substitute replaces dates in UTC, the source and the groups of the accept
// pattern; what it does not know stays.
func (p *Placement) substitute(text string, a *post.Announcement, groups []string) string {
	if !strings.Contains(text, "${") {
		return text
	}
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "${")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			b.WriteString("${" + rest)
			return b.String()
		}
		if v, known := p.variable(name, a, groups); known {
			b.WriteString(v)
		} else {
			b.WriteString("${" + name + "}")
		}
		text = after
	}
}

func (p *Placement) variable(name string, a *post.Announcement, groups []string) (string, bool) {
	if n, err := strconv.Atoi(name); err == nil {
		if n >= 0 && n+1 < len(groups) {
			return groups[n+1], true
		}
		return "", false
	}
	if name == "SOURCE" {
		return a.Header(post.HeaderSource), a.Header(post.HeaderSource) != ""
	}
	date, offset, shifted := strings.Cut(name, "-")
	layout, ok := dateLayout(date)
	if !ok {
		return "", false
	}
	now := p.Now().UTC()
	if shifted {
		d, err := ago(offset)
		if err != nil {
			return "", false
		}
		now = now.Add(-d)
	}
	return now.Format(layout), true
}

// dateLayout is the layout behind the name of a date.
func dateLayout(name string) (string, bool) {
	switch name {
	case "YYYYMMDD":
		return "20060102", true
	case "YYYY":
		return "2006", true
	case "MM":
		return "01", true
	case "DD":
		return "02", true
	case "HH":
		return "15", true
	case "JJJ":
		return "002", true
	}
	return "", false
}

// ago reads an offset such as 1D: seconds, or a number and one of s m h d w.
func ago(s string) (time.Duration, error) {
	unit := time.Second
	if s != "" {
		if u, ok := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}[s[len(s)-1]|0x20]; ok {
			unit, s = u, s[:len(s)-1]
		}
	}
	n, err := strconv.ParseFloat(s, 64)
	return time.Duration(n * float64(unit)), err
}

// split is a place as hooks see it: the root, the directory and the name in it.
func (p Place) split() (root, dir, name string) {
	full := p.Full()
	return p.Root, filepath.Dir(full), filepath.Base(full)
}
