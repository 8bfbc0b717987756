// Package pump is the flow every command is a preset of: announcements are
// gathered, filtered, winnowed, worked on, posted and acknowledged, in the order
// that loses nothing (srpump(7), DURABILITY).
//
//	Flow       consumes announcements: sr_subscribe sr_sarra sr_winnow
//	Poster     makes announcements: sr_post sr_watch
//	Preset     the defaults that make a flow one command or another; rows of package config
//	Rules      the accept and reject lines
//	Placement  where a file goes
//	Host       what a flow may use of the machine it runs on
//	Counters   what happened so far
//
// It does not touch the arguments, the standard error or the exit status of the process.
package pump

import (
	"io"
	"log/slog"
	"sync/atomic"
	"time"
)

// A Host is what a flow may use of the machine and the process it runs in.
type Host struct {
	Log      *slog.Logger
	Stdin    io.Reader
	Stdout   io.Writer
	Cwd      string // absolute; relative directories are below it
	Database string // path of the local broker when no other is named
	Hostname string // in reports
	Version  string
	Now      func() time.Time
	// Ready, where set, is called when everything is open and what is announced comes in, or
	// what changes is noticed.
	Ready func()
	// Away, where set, is told why a broker is not reached, and with nil when all are again.
	Away func(why error)
	// Paused, where set, is told why nothing is taken in for a while, and with nil when it is again.
	Paused func(why error)
	// Resumes says that a run of this process came before, with another form of the configuration:
	// the option reset was for the first.
	Resumes bool

	links links
}

// Counters say what happened since the start; all may be read at any time.
type Counters struct {
	Received   atomic.Int64 // announcements taken in
	Rejected   atomic.Int64 // by a rule
	Winnowed   atomic.Int64 // known already
	Fetched    atomic.Int64 // files fetched and installed
	Blocks     atomic.Int64 // blocks fetched and verified, of files that are put together
	BlocksKept atomic.Int64 // blocks of these taken from the older copy
	Linked     atomic.Int64 // links installed
	Removed    atomic.Int64 // files removed, or announced as removed
	Renamed    atomic.Int64 // files, links and directories given their new name
	Unchanged  atomic.Int64 // files that were here already
	Announced  atomic.Int64 // announcements confirmed by the broker
	Unrouted   atomic.Int64 // of these, taken by no queue
	Bytes      atomic.Int64 // fetched, or announced
	Moved      atomic.Int64 // bytes as they come, also of files that are not complete
	Retried    atomic.Int64 // put to the retry queue
	GivenUp    atomic.Int64 // moved to the dead-letter file after retries
	Incomplete atomic.Int64 // files in blocks given up, as blocks did not come; in no file
	Malformed  atomic.Int64 // never understood; in the dead-letter file
	Failed     atomic.Int64 // paths that could not be announced
	Superseded atomic.Int64 // dropped for a newer announcement of the same path
	Retired    atomic.Int64 // files removed at their age
	Staged     atomic.Int64 // files given to the filter of a stage
	Dropped    atomic.Int64 // of these, those nothing is to be made of
	Made       atomic.Int64 // outputs of a stage announced
	MadeAgain  atomic.Int64 // of these, those that may have been announced before
	LagNanos   atomic.Int64 // age of the announcement last finished
}
