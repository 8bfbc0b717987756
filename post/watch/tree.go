package watch

// A node is one watched directory.
type node struct {
	path                    string
	id                      fileID
	parent, kid, next, prev *node
	pass                    uint32 // the last re-walk that met it
}

// A tree holds the watched directories by path, by inode and by descent, so
// that one moved away is let go with all below it, and none is watched twice.
type tree struct {
	byPath map[string]*node
	byID   map[fileID]*node
}

func newTree() *tree {
	return &tree{byPath: make(map[string]*node), byID: make(map[fileID]*node)}
}

func (t *tree) add(path string, id fileID, parent *node) *node {
	n := &node{path: path, id: id}
	t.byPath[path] = n
	if id != (fileID{}) {
		t.byID[id] = n
	}
	n.under(parent)
	return n
}

// under hangs n below parent, unless it hangs somewhere already.
func (n *node) under(parent *node) {
	if n.parent != nil || parent == nil {
		return
	}
	n.parent, n.next = parent, parent.kid
	if parent.kid != nil {
		parent.kid.prev = n
	}
	parent.kid = n
}

// cut takes n and all below it out of the tree and calls each for every one,
// the lowest first.
func (t *tree) cut(n *node, each func(*node)) {
	for n.kid != nil {
		t.cut(n.kid, each)
	}
	switch {
	case n.prev != nil:
		n.prev.next = n.next
	case n.parent != nil:
		n.parent.kid = n.next
	}
	if n.next != nil {
		n.next.prev = n.prev
	}
	delete(t.byPath, n.path)
	if t.byID[n.id] == n {
		delete(t.byID, n.id)
	}
	each(n)
}
