// Package post is what an announcement is: the message that says a file is
// there to be fetched, changed or gone (sr_post(7)). It does not know brokers,
// options or the network, and is told the time.
//
//	Announcement  one file, link or removal, or one block of a file
//	Topic         the words an exchange routes by, made from the path
//	Fingerprint   the header "sum": a method and a value
//	Timestamp     when it was first announced; kept by every hop
//	Report        what became of an announcement at one consumer
//	Retrieval     where to fetch it and what it wants to be called
//
// The wire formats are in v02.go and v03*.go: decoded leniently, for the living peers
// differ, and encoded strictly, so that all of them understand it.
package post

import "srpump/partition"

// An Announcement is one post message, decoded. Sum and Block have fields of
// their own; all other headers, known or not, stay in Headers as they came.
type Announcement struct {
	Topic string // on the wire's terms: dotted words, blank and # escaped
	Time  Timestamp
	Base  string          // srcpath: the URL it is fetched from, or its prefix
	Path  string          // relpath, decoded: slashes, any character but NUL
	Sum   Fingerprint     // zero when the header is missing
	Block partition.Block // Method is 0 when the header "parts" is missing
	// Report makes it a report of what became of the file; nil in announcements of files.
	Report *Report
	// Content is the file itself, where a v03 announcement carries it; nil where it does not.
	Content *Content
	// Exchange is what it came through, set by who wants it remembered; it is not part of
	// the message.
	Exchange string

	Headers map[string]any
}

// A Content is the bytes of a small file, carried with its announcement. v02 has no place for it.
type Content struct {
	Data   []byte
	Binary bool // carried in base64, text or not
}

// Header returns the header called name when it is text, else "".
func (a *Announcement) Header(name string) string { return text(a.Headers[name]) }

// SetHeader sets a header to a text value; the empty value removes it.
func (a *Announcement) SetHeader(name, value string) {
	if value == "" {
		delete(a.Headers, name)
		return
	}
	if a.Headers == nil {
		a.Headers = make(map[string]any)
	}
	a.Headers[name] = value
}

// HasBlock reports whether the header "parts" was there.
func (a *Announcement) HasBlock() bool { return a.Block.Method != 0 }

// Size is the number of bytes to fetch, or -1 when the announcement does not say.
func (a *Announcement) Size() int64 {
	if !a.HasBlock() {
		return -1
	}
	return a.Block.Length()
}

// Clone copies the announcement and its map of headers.
func (a *Announcement) Clone() *Announcement {
	c := *a
	c.Headers = make(map[string]any, len(a.Headers)+2)
	for k, v := range a.Headers {
		c.Headers[k] = v
	}
	return &c
}

func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}
