package watch

import "io/fs"

// peers remembers under which names a file was reported, to know the others when it has several: the
// kernel tells of a change only the name it was made by. It forgets the oldest half
// when it is full.
type peers struct{ young, old map[fileID][]string }

func (p *peers) of(id fileID) []string {
	if names, ok := p.young[id]; ok {
		return names
	}
	return p.old[id]
}

func (p *peers) put(id fileID, names []string) {
	if p.young == nil || len(p.young) >= recentMax {
		p.old, p.young = p.young, make(map[fileID][]string)
	}
	p.young[id] = names
}

// linked remembers that the file info is of has a path, and has its other names looked at, as
// what happened to it happened to them. When the path is news it returns another name it has.
func (w *Watcher) linked(path string, info fs.FileInfo) (other string) {
	id := identify(info)
	if id == (fileID{}) || !info.Mode().IsRegular() {
		return ""
	}
	names := []string{path}
	if linkCount(info) > 1 {
		for _, name := range w.peers.of(id) {
			if there, err := look(name, false); name == path || err != nil || identify(there) != id {
				continue
			}
			names = append(names, name)
			w.pending.touch(name, attrib, w.o.Settle)
			if !w.known.has(path, false) {
				other = name
			}
		}
	}
	w.peers.put(id, names)
	return other
}
