package transfer

import (
	"context"
	"io"
	"io/fs"
	"time"
)

// An Entry is one name at a place, as a look or a listing gives it.
type Entry struct {
	Name    string // the last part of the path, as the server spells it; List checks that it is one
	Size    int64  // bytes; below zero when the server does not say
	ModTime time.Time
	Mode    fs.FileMode // kind and permissions; no permissions when the server does not say
	Target  string      // of a symbolic link, when the server says
	// Rough says that the time is rounded and of the server's zone, taken for UTC, as listings made for people have it.
	Rough bool
}

// A Lister looks at a place. It may be used by many goroutines at once. Failures are an *Error
// of Op "list" or "stat".
type Lister interface {
	// List yields what is in a directory, in any order, without "." and "..". Names that are none
	// (empty, with a slash or NUL) are left out. An error of yield ends the listing and is
	// returned as it is; any other means that not all was seen.
	List(ctx context.Context, url string, yield func(Entry) error) error
	// Stat looks at one name and follows no link; class NotFound when there is none.
	Stat(ctx context.Context, url string) (Entry, error)
}

// A Put is bytes and where they go.
type Put struct {
	URL  string // percent-encoded
	From io.Reader
	Size int64 // bytes From must give, no more and no less; below zero: to its end
	// Offset is where they go in the file. With Keep the file keeps its other bytes; else it is
	// made, or emptied, first, and Offset is 0.
	Offset int64
	Keep   bool
	// Mode is given to a file that is made, where the scheme can; 0 leaves it to the server.
	Mode fs.FileMode
}

// A Writer changes a place. It may be used by many goroutines at once. Failures are an *Error of
// Op "put", "rename", "remove", "mkdir" or "set"; what the scheme or server cannot do at all is of
// class Unsupported.
type Writer interface {
	// Put returns the bytes the server took. A failure of From is returned as it is. What a
	// failed Put leaves behind is the caller's to remove.
	Put(ctx context.Context, p Put) (int64, error)
	// Rename replaces a file that has the new name, atomically where the server can.
	Rename(ctx context.Context, from, to string) error
	// Remove removes a file, link or empty directory; class NotFound when there is none.
	Remove(ctx context.Context, url string) error
	// Mkdir makes a directory and those above it; one that is there already is no failure.
	Mkdir(ctx context.Context, url string, mode fs.FileMode) error
	// Set gives a file those attributes that are not zero.
	Set(ctx context.Context, url string, a Attributes) error
}

// Attributes are what Set changes.
type Attributes struct {
	Mode    fs.FileMode // permission bits
	ModTime time.Time
}
