package send

import (
	"io/fs"
	"sync"
	"sync/atomic"

	"srpump/pump/transfer"
)

// Options are what an operator decides about a place.
type Options struct {
	// Temporary is how a file of some name is called until it is complete, the same at every try,
	// so that a retry takes the place of what a killed one left; sub is a directory beside it, or
	// empty. See fetch.Inflight.
	Temporary func(name string) (sub, temp string)
	DirMode   fs.FileMode // of directories made on the way
}

// A Sender delivers to one place. It may be used by many goroutines at once; files of one name are
// for the caller to keep apart.
type Sender struct {
	to   transfer.Writer
	look transfer.Lister // nil where the place cannot be looked at
	o    Options
	dirs dirs

	making chan struct{} // held while a directory is made

	noMode, noTime atomic.Bool // the server sets none
}

// New makes a Sender. Where to is a transfer.Lister too, sizes are confirmed by what it says.
func New(to transfer.Writer, o Options) *Sender {
	s := &Sender{to: to, o: o, making: make(chan struct{}, 1)}
	s.look, _ = to.(transfer.Lister)
	return s
}

// dirs are the directories known to be there.
type dirs struct {
	mu    sync.Mutex
	there map[string]bool
}

// mostDirs bounds what is remembered; beyond it, it begins anew.
const mostDirs = 20_000

func (d *dirs) has(url string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.there[url]
}

func (d *dirs) add(url string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.there == nil || len(d.there) >= mostDirs {
		d.there = make(map[string]bool)
	}
	d.there[url] = true
}

// drop is for a directory that is removed.
func (d *dirs) drop(url string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.there, url)
}

// forget is for a failure that a directory which has gone may be the cause of: what is below it
// has gone too, and what is above it may have.
func (d *dirs) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.there = nil
}
