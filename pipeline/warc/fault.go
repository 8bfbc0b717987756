package warc

import "fmt"

// A Kind is what sort of thing is wrong.
type Kind int

// The kinds of faults. A Deviation can be read, though the standard has it otherwise; all
// others mean that bytes are not what was once written.
const (
	Deviation Kind = iota // common in the wild, and read
	Truncated             // the file ends within a record
	Corrupt               // the gzip member cannot be inflated, or its checksum is wrong
	Length                // Content-Length is not that of the block
	Digest                // the block or payload is not what was sealed
	Head                  // the head cannot be read
	Garbage               // bytes that are no record
	TooLarge              // a limit of the reader
)

// A Fault is something wrong at a place in a file. Readers report them and go on.
type Fault struct {
	Offset int64 // of the record, or of its gzip member, in bytes
	Inside int64 // of the record in the uncompressed bytes of a member that holds several
	Kind   Kind
	Reason string
	// Skipped is how many bytes of the file were passed over from there on to find the next
	// record; those of a Deviation, and of a record that merely does not match, are none.
	Skipped int64
	// Cause is the error below, where there is one.
	Cause error
}

// Damage tells whether bytes were lost or altered.
func (f *Fault) Damage() bool { return f.Kind != Deviation }

// String is the fault without its place.
func (f *Fault) String() string {
	text := f.Reason
	if f.Cause != nil {
		text += ": " + f.Cause.Error()
	}
	if f.Skipped > 0 {
		text += fmt.Sprintf(" (%d bytes skipped)", f.Skipped)
	}
	return text
}

// Error is the fault with its place.
func (f *Fault) Error() string { return fmt.Sprintf("offset %d: %s", f.Offset, f.String()) }

// Unwrap is the cause.
func (f *Fault) Unwrap() error { return f.Cause }
