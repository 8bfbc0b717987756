// Package watch notices what happens to the files below some directories and
// reports each path once it has come to rest. It knows neither brokers nor
// options; sr_watch(1) announces what is reported here, and sr_post(1) uses
// Walk.
//
//	Root      a directory (or file) whose tree is watched
//	Method    how changes are noticed: the kernel's events, or polling
//	Pending   the paths noticed and not yet reported, one entry per path
//	Settled   quiet for the settle time, so probably complete
//	Re-read   a directory that appeared is watched first and then read
//	Re-walk   all roots read again, because events were lost or time is up
//
// Events say only where to look. What is reported is what the path is when it
// has settled: present means Changed, absent means Removed. A late, doubled or
// wrongly ordered event costs a look and changes no result.
package watch

import "io/fs"

// An Op is what became of a path.
type Op int

const (
	Changed Op = iota // created or written, and settled since
	Removed           // no longer there under this name
)

// String is "changed" or "removed".
func (o Op) String() string {
	if o == Removed {
		return "removed"
	}
	return "changed"
}

// An Event is one settled path. Changed is reported for regular files and
// symbolic links, with Options.Dirs once for directories, never for sockets or devices. Removed may name a
// path that was never reported as Changed: one made and deleted in between.
type Event struct {
	Op   Op
	Path string      // the root as given, a slash, and the names below it; any bytes
	Info fs.FileInfo // lstat at the time of the report; nil for Removed

	// To, of what was Removed, is the path it has now; the Changed that follows
	// has the path removed as its From. From without a removal before it is another
	// name that the same file still has. They are left out where it is not certain
	// that nothing but the name changed.
	From, To string

	// Dir says that the path removed was a directory, and that everything
	// reported below it earlier is gone or has moved with it. What is there
	// again under the same names is reported after this event.
	Dir bool

	// Busy says that the file was still being written when it was reported:
	// one that never rests is reported every max(10 × Settle, 5 s).
	Busy bool
}
