package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of what is read, so that no file can keep a command busy.
const (
	maxFile     = 1 << 20  // bytes of one file
	maxLine     = 64 << 10 // bytes of one line
	maxDepth    = 16       // files including each other
	maxFiles    = 256      // files read in all
	maxProblems = 100      // problems after which the rest of a file is not read
)

// readFile takes all lines of one file. A missing file is an error only when
// it is wanted.
func (p *parser) readFile(path string, wanted bool) {
	data, err := readConfig(path)
	if errors.Is(err, fs.ErrNotExist) && !wanted {
		return
	}
	if err != nil {
		p.fail("", err.Error(), "")
		return
	}
	file, line := p.file, p.line
	p.stack, p.read = append(p.stack, path), append(p.read, path)
	p.file = path
	p.lines(data)
	p.stack = p.stack[:len(p.stack)-1]
	p.file, p.line = file, line
}

func (p *parser) lines(data []byte) {
	p.line = 0
	before := len(p.problems)
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		p.fail("", "the file is UTF-16", "save it as UTF-8")
		return
	}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		p.line = 1 + bytes.Count(data[:i], []byte("\n"))
		p.fail("", "the line holds a zero byte, so nothing of the file is read", "is it a text file?")
		return
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	for raw := range bytes.Lines(data) {
		p.line++
		words, err := splitLine(string(raw))
		if err != nil {
			p.fail("", err.Error(), "")
		} else if len(words) > 0 {
			p.feed(words)
		}
		if len(p.problems)-before >= maxProblems {
			p.fail("", "too many problems, the rest of the file is not read", "")
			return
		}
	}
}

// splitLine cuts a line into an option and its words at white space. A line
// whose first character is # is a comment; a word that ends in a backslash is
// joined to the next by one blank. No word at all means there is nothing to do.
func splitLine(line string) ([]string, error) {
	line = strings.TrimRight(line, "\r\n")
	if trimmed := strings.TrimSpace(line); trimmed == "" || trimmed[0] == '#' {
		return nil, nil
	}
	switch {
	case len(line) > maxLine:
		return nil, fmt.Errorf("the line is longer than %d bytes", maxLine)
	case strings.IndexByte(line, 0) >= 0:
		return nil, errors.New("the line holds a zero byte")
	case strings.IndexByte(line, '\r') >= 0:
		return nil, errors.New("the line holds a carriage return")
	case !utf8.ValidString(line):
		return nil, errors.New("the line is not UTF-8")
	}
	words := joinWords(strings.Fields(line))
	if bareName(words[0]) == "" {
		return nil, fmt.Errorf("the line begins with %q instead of an option", words[0])
	}
	return words, nil
}

func joinWords(fields []string) []string {
	var words []string
	joining := false
	for i, f := range fields {
		part, more := strings.CutSuffix(f, `\`)
		if i == len(fields)-1 {
			part, more = f, false
		}
		if joining {
			words[len(words)-1] += " " + part
		} else {
			words = append(words, part)
		}
		joining = more
	}
	return words
}

func readConfig(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the configuration %q: %w", path, plain(err))
	}
	if !isFile(path) {
		return nil, fmt.Errorf("cannot read the configuration %q: it is not a file but %s", path, info.Mode().Type())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the configuration %q: %w", path, plain(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("cannot read the configuration %q: %w", path, plain(err))
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("cannot read the configuration %q: it is larger than %d bytes", path, maxFile)
	}
	return data, nil
}

// plain removes the path an error repeats.
func plain(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	return err
}

// include reads the named file, or all that a pattern with * or ? matches, in
// the order of their names.
func (p *parser) include(o *Option, words []string) {
	if len(words) != 1 {
		p.fail(o.Name, fmt.Sprintf("option %q takes the name of one file", o.Name), "")
		return
	}
	paths := p.findIncluded(words[0])
	if len(paths) == 0 {
		p.fail(o.Name, fmt.Sprintf("cannot find %q beside this file or in %s", words[0], p.component), "")
		return
	}
	for _, path := range paths {
		if text := p.refuseInclude(path); text != "" {
			p.fail(o.Name, fmt.Sprintf("cannot include %q: %s", path, text), "")
			return
		}
		p.readIncluded(path)
	}
}

// readIncluded reads a file named on the command line as a file: what it says
// does not count as the command line.
func (p *parser) readIncluded(path string) {
	saved := p.fromCommandLine
	p.fromCommandLine = false
	p.readFile(path, true)
	p.fromCommandLine = saved
}

func (p *parser) refuseInclude(path string) string {
	switch {
	case slices.ContainsFunc(p.stack, func(open string) bool { return sameFile(open, path) }):
		return "it is being read already and would include itself"
	case len(p.stack) >= maxDepth:
		return fmt.Sprintf("more than %d files include each other", maxDepth)
	case len(p.read) >= maxFiles:
		return fmt.Sprintf("more than %d files are read", maxFiles)
	}
	return ""
}

func sameFile(a, b string) bool {
	ia, erra := os.Stat(a)
	ib, errb := os.Stat(b)
	return erra == nil && errb == nil && os.SameFile(ia, ib)
}

// findIncluded looks beside the including file, then in the directory of the
// component, then in that of all components; with and without .inc.
func (p *parser) findIncluded(name string) []string {
	dirs := []string{p.env.Cwd, p.component, filepath.Dir(p.component)}
	if len(p.stack) > 0 {
		dirs[0] = filepath.Dir(p.stack[len(p.stack)-1])
	}
	if filepath.IsAbs(name) {
		dirs = []string{"/"}
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		if strings.ContainsAny(name, "*?") {
			if found, err := filepath.Glob(path); err == nil && len(found) > 0 {
				return slices.DeleteFunc(found, func(f string) bool { return !isFile(f) })
			}
			continue
		}
		for _, path := range []string{path, path + ".inc"} {
			if isFile(path) {
				return []string{path}
			}
		}
	}
	return nil
}
