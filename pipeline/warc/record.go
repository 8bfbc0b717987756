package warc

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"
)

// The versions that are written; others are read.
const (
	V10 = "WARC/1.0"
	V11 = "WARC/1.1"
)

// The types of records, ISO 28500, WARC-Type.
const (
	Info         = "warcinfo"
	Response     = "response"
	Request      = "request"
	Metadata     = "metadata"
	Revisit      = "revisit"
	Resource     = "resource"
	Conversion   = "conversion"
	Continuation = "continuation"
)

// The names of the fields this package knows.
const (
	FieldType          = "WARC-Type"
	FieldID            = "WARC-Record-ID"
	FieldDate          = "WARC-Date"
	FieldURI           = "WARC-Target-URI"
	FieldBlockDigest   = "WARC-Block-Digest"
	FieldPayloadDigest = "WARC-Payload-Digest"
	FieldConcurrentTo  = "WARC-Concurrent-To"
	FieldRefersTo      = "WARC-Refers-To"
	FieldRefersToURI   = "WARC-Refers-To-Target-URI"
	FieldRefersToDate  = "WARC-Refers-To-Date"
	FieldProfile       = "WARC-Profile"
	FieldWarcinfoID    = "WARC-Warcinfo-ID"
	FieldFilename      = "WARC-Filename"
	FieldIP            = "WARC-IP-Address"
	FieldTruncated     = "WARC-Truncated"
	FieldContentType   = "Content-Type"
	FieldContentLength = "Content-Length"
)

// The content types of blocks.
const (
	HTTPResponse = "application/http;msgtype=response"
	HTTPRequest  = "application/http;msgtype=request"
	FieldsType   = "application/warc-fields"
)

// A Field is one named field. Names compare without case.
type Field struct{ Name, Value string }

// Fields are the named fields of a record, in their order; unknown ones are kept.
type Fields []Field

// Get is the value of the first field of that name, or "".
func (f Fields) Get(name string) string {
	for i := range f {
		if len(f[i].Name) == len(name) && strings.EqualFold(f[i].Name, name) {
			return f[i].Value
		}
	}
	return ""
}

// Add appends a field; nothing when the value is empty.
func (f *Fields) Add(name, value string) {
	if value != "" {
		*f = append(*f, Field{name, value})
	}
}

// String is the form of the block of a warcinfo record: a line for each field.
func (f Fields) String() string {
	var b strings.Builder
	for _, x := range f {
		b.WriteString(x.Name + ": " + x.Value + "\r\n")
	}
	return b.String()
}

// A Record is one record, to be written or as it was read.
type Record struct {
	// Version is the first line, such as V10; "" is the writer's.
	Version string
	// Fields are written in this order. The writer adds the digests it is to make that are not
	// there, then ContentType, then Content-Length, which is always its own.
	Fields Fields
	// ContentType, to be written behind the digests; read records have it in Fields alone.
	ContentType string
	// Block is read once.
	Block io.Reader
	// Size is the length of the block in bytes; -1 when it is to be found out in writing.
	Size int64

	// Offset is where the record, or the gzip member it is in, begins in the file, in bytes.
	Offset int64
	// Inside is where it begins in the uncompressed bytes of its member: 0, but in files
	// that hold several records in one member.
	Inside int64
	// Compressed tells that it was read from a gzip member.
	Compressed bool
	// Head is the head as it was read, up to and with the empty line; valid until the next
	// record is asked for.
	Head []byte

	end     int64 // offset of what follows; 0 as long as that is not known
	missing int   // bytes of the two line ends behind the block that are not there
}

// New is a record of a type, with an id of its own, and the target URI, which may be "". The
// date has whole seconds in version 1.0 and fractions, where there are any, in 1.1.
func New(version, kind, uri string, at time.Time) *Record {
	r := &Record{Version: version, Size: -1}
	r.Fields.Add(FieldType, kind)
	r.Fields.Add(FieldID, NewID())
	r.Fields.Add(FieldDate, FormatDate(version, at))
	r.Fields.Add(FieldURI, uri)
	switch kind {
	case Info:
		r.ContentType = FieldsType
	case Response:
		r.ContentType = HTTPResponse
	case Request:
		r.ContentType = HTTPRequest
	}
	return r
}

// With gives the record its block, and returns it.
func (r *Record) With(block string) *Record {
	r.Block, r.Size = strings.NewReader(block), int64(len(block))
	return r
}

// NewInfo is a warcinfo record: of which file, and what made it.
func NewInfo(version, filename string, at time.Time, about Fields) *Record {
	r := New(version, Info, "", at)
	r.Fields.Add(FieldFilename, filename)
	return r.With(about.String())
}

// NewRevisit is a revisit record: the payload, with that digest, is in the record first.
// Its block is the HTTP header that came this time, or empty.
func NewRevisit(version, uri string, at time.Time, first *Record) *Record {
	r := New(version, Revisit, uri, at)
	r.Fields.Add(FieldProfile, "http://netpreserve.org/warc/"+strings.TrimPrefix(version, "WARC/")+"/revisit/identical-payload-digest")
	r.Fields.Add(FieldRefersTo, first.ID())
	r.Fields.Add(FieldRefersToURI, first.URI())
	r.Fields.Add(FieldRefersToDate, first.Fields.Get(FieldDate))
	r.Fields.Add(FieldPayloadDigest, first.Fields.Get(FieldPayloadDigest))
	r.ContentType = HTTPResponse
	return r
}

// NewID is a new record id, in its brackets.
func NewID() string { return "<" + uuid.New().URN() + ">" }

// Type, ID and URI are the fields one asks for most; "" where they are not there.
func (r *Record) Type() string { return r.Fields.Get(FieldType) }
func (r *Record) ID() string   { return r.Fields.Get(FieldID) }

// URI is the target, without the brackets some writers of 1.0 put around it.
func (r *Record) URI() string {
	uri := r.Fields.Get(FieldURI)
	if len(uri) > 1 && uri[0] == '<' && uri[len(uri)-1] == '>' {
		return uri[1 : len(uri)-1]
	}
	return uri
}

// Date is WARC-Date.
func (r *Record) Date() (time.Time, error) { return ParseDate(r.Fields.Get(FieldDate)) }

// End is the offset of what follows the record in the file; 0 until its block was read to
// the end, and for records that share a gzip member with later ones.
func (r *Record) End() int64 { return r.end }

// FormatDate is a WARC-Date: UTC, of whole seconds in version 1.0, and in 1.1 with as many
// digits behind them as there are, up to nine.
func FormatDate(version string, at time.Time) string {
	if version == V11 {
		return at.UTC().Format("2006-01-02T15:04:05.999999999Z")
	}
	return at.UTC().Format("2006-01-02T15:04:05Z")
}

// ParseDate reads a WARC-Date of any version; 1.1 allows to leave out what is not known,
// from the back.
func ParseDate(s string) (time.Time, error) {
	for _, layout := range []string{"2006-01-02T15:04:05Z", "2006-01-02T15:04Z", "2006-01-02", "2006-01", "2006"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("cannot read the date %q", s)
}
