// Package adopt takes over the state of a v02 host, so that our commands go
// on where the Python ones stopped: nothing announced is fetched twice, and
// nothing that failed is forgotten.
//
//	Item    one file and what becomes of it
//	Plan    all items of a host, nothing changed
//	Apply   the plan carried out for the configurations nobody runs
//
// Queue names (qname files) are used where they are. The remembered
// fingerprints (recent_files_*.cache) and what was to be tried again (.retry
// and its like) are read into our own files and then renamed to
// <name>.adopted: what is killed in between is done again, and what is there
// already is not added twice.
package adopt

import "srpump/pump/config"

// Verdict says what becomes of a file.
type Verdict string

// The verdicts.
const (
	AsIs    Verdict = "as is"   // read or used as it is
	Changes Verdict = "changes" // runs, with a difference the text names
	Imports Verdict = "imports" // read into our own state by Apply
	Refused Verdict = "refused" // does not run, or cannot be taken over now
)

// Item is one file and what becomes of it. No secret is part of it.
type Item struct {
	Path    string
	Verdict Verdict
	Text    string // lower case, no final period; empty when there is nothing to add

	cfg  *config.Config // whose state it is
	kind kind
}

// kind is how a file of state is read.
type kind int

const (
	none kind = iota
	cache
	retries
)
