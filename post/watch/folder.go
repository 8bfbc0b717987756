package watch

import (
	"hash/maphash"
	"io/fs"
	"iter"
	"slices"
	"strings"
)

// A stamp condenses what polling saw of an entry: that it is a directory and
// which, or the state of a file. Its lowest bit says which of the two.
type stamp uint64

func (s stamp) isDir() bool { return s&1 != 0 }

func stampOf(seed maphash.Seed, info fs.FileInfo) stamp {
	if info.IsDir() {
		return stamp(maphash.Comparable(seed, identify(info)) | 1)
	}
	return stamp(maphash.Comparable(seed, stateOf(info)) &^ 1)
}

// A folder is what polling remembers of one directory: the names, sorted, each
// with a slash after it, and a stamp for each. That is the length of the name
// and 9 bytes for an entry.
type folder struct {
	names  string
	stamps []stamp
}

// entries yields names and stamps, in the order of the names.
func (f folder) entries() iter.Seq2[string, stamp] {
	return func(yield func(string, stamp) bool) {
		rest := f.names
		for _, s := range f.stamps {
			name, after, _ := strings.Cut(rest, "/")
			if !yield(name, s) {
				return
			}
			rest = after
		}
	}
}

// folder reads one directory, tells what differs from the time before, and
// pushes the directories in it. One that cannot be read is left as it was.
func (p *poller) folder(t *polled, path string, stack []string) []string {
	now, err := p.snapshot(path)
	if err != nil {
		p.fault(path, err)
		return stack
	}
	before := t.folders[path]
	t.folders[path] = now
	next, stop := iter.Pull2(before.entries())
	defer stop()
	old, was, more := next()
	for name, is := range now.entries() {
		for ; more && old < name; old, was, more = next() {
			p.left(t, join(path, old), was)
		}
		sub := join(path, name)
		if more && old == name {
			p.differ(t, sub, was, is)
			old, was, more = next()
		} else if !is.isDir() {
			p.touch(t, sub, content)
		}
		if is.isDir() {
			if p.w.known.has(sub, false) { // it was a file between two passes
				p.touch(t, sub, gone)
			}
			if p.w.o.Dirs && !p.w.known.has(sub, true) {
				p.touch(t, sub, content)
			}
			stack = append(stack, sub)
		}
	}
	for ; more; old, was, more = next() {
		p.left(t, join(path, old), was)
	}
	return stack
}

// left tells that an entry is no longer there.
func (p *poller) left(t *polled, path string, was stamp) {
	if was.isDir() {
		p.dropBelow(t, path, true)
	} else {
		p.touch(t, path, gone)
	}
}

// differ tells what became of an entry that was and is there.
func (p *poller) differ(t *polled, path string, was, is stamp) {
	if was == is {
		return
	}
	if was.isDir() || is.isDir() {
		p.left(t, path, was)
	}
	if !is.isDir() {
		p.touch(t, path, content)
	}
}

// snapshot lists a directory: what is reported, and directories.
func (p *poller) snapshot(path string) (folder, error) {
	f, err := openDir(path)
	if err != nil {
		return folder{}, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return folder{}, err
	}
	slices.Sort(names)
	var all strings.Builder
	stamps := make([]stamp, 0, len(names))
	for _, name := range names {
		sub := join(path, name)
		info, err := look(sub, p.w.o.Follow)
		if err != nil || !info.IsDir() && !reportable(info.Mode()) {
			continue
		}
		if info.IsDir() && p.w.o.Skip != nil && p.w.o.Skip(sub) {
			continue
		}
		all.WriteString(name)
		all.WriteByte('/')
		stamps = append(stamps, stampOf(p.w.recent.seed, info))
	}
	return folder{names: all.String(), stamps: stamps}, nil
}
