package post

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"srpump/partition"
)

// ErrMalformed is what every error of decoding wraps: the message can never be
// understood, and must not be tried again.
var ErrMalformed = errors.New("malformed announcement")

// maxLine bounds the first line in bytes; a path has at most 4096, tripled when escaped.
const maxLine = 32 << 10

// A Message is an announcement on the wire: what a broker is given. All of its own
// headers are text (AMQP long strings); unknown ones keep their type.
type Message struct {
	Topic       string
	Headers     map[string]any
	Body        []byte
	ContentType string
	// Dropped names headers that had no room (see MaxHeader).
	Dropped []string
}

// ContentType and ContentEncoding are the properties of a v02 message; the encoding is that of v03 as well.
const (
	ContentType     = "text/plain"
	ContentEncoding = "utf-8"
)

// DecodeV02 reads a message (sr_post(7), THE FIRST LINE, AMQP HEADERS). It
// takes over headers. Errors wrap ErrMalformed.
func DecodeV02(topic string, headers map[string]any, body []byte) (*Announcement, error) {
	malformed := func(err error) (*Announcement, error) { return nil, fmt.Errorf("%w: %w", ErrMalformed, err) }
	line, err := firstLine(body)
	if err != nil {
		return malformed(err)
	}
	a := &Announcement{Topic: topic, Base: line[1], Headers: headers}
	rel := line[2]
	if IsReportTopic(topic) {
		a.Report = new(Report)
		if rel, *a.Report, err = parseReport(line); err != nil {
			return malformed(err)
		}
	}
	if a.Time, err = ParseTimestamp(line[0]); err != nil {
		return malformed(err)
	}
	if a.Path = pathFrom(rel, a.Header(HeaderExactPath)); strings.IndexByte(a.Path, 0) >= 0 {
		return malformed(fmt.Errorf("NUL in path %.80q", a.Path))
	}
	if err := a.takeSum(); err != nil {
		return malformed(err)
	}
	if err := a.takeParts(); err != nil {
		return malformed(err)
	}
	delete(headers, HeaderExactPath)
	return a, nil
}

// firstLine splits the first line into its fields: date stamp, srcpath, relpath, and what follows.
func firstLine(body []byte) ([]string, error) {
	if i := bytes.IndexByte(body, '\n'); i >= 0 {
		body = body[:i]
	}
	if len(body) > maxLine {
		return nil, fmt.Errorf("first line of %d bytes", len(body))
	}
	if !utf8.Valid(body) {
		return nil, fmt.Errorf("first line %.60q is not UTF-8", body)
	}
	f := strings.FieldsFunc(string(body), func(r rune) bool { return r == ' ' || r == '\t' || r == '\r' })
	if len(f) < 3 {
		return nil, fmt.Errorf("first line %.60q has %d of 3 fields", body, len(f))
	}
	return f, nil
}

func (a *Announcement) takeSum() (err error) {
	v, there := a.Headers[HeaderSum]
	if !there {
		return nil
	}
	if text(v) == "" {
		return fmt.Errorf("sum of type %T", v)
	}
	a.Sum, err = ParseSum(text(v))
	delete(a.Headers, HeaderSum)
	return err
}

func (a *Announcement) takeParts() (err error) {
	v, there := a.Headers[HeaderParts]
	if !there {
		return nil
	}
	a.Block, err = partition.Parse(text(v))
	delete(a.Headers, HeaderParts)
	return err
}

// EncodeV02 writes a message as every living peer reads it: the blank before the line
// feed is for those that would keep the line feed in the name. It leaves a as it is.
func EncodeV02(a *Announcement) (Message, error) {
	fail := func(err error) (Message, error) { return Message{}, fmt.Errorf("cannot encode %.80q: %w", a.Path, err) }
	if a.Path == "" || strings.IndexByte(a.Path, 0) >= 0 {
		return fail(errors.New("empty path or NUL in it"))
	}
	headers, dropped, err := a.wireHeaders()
	if err != nil {
		return fail(err)
	}
	exact, err := exactPath(a.Path)
	if err != nil {
		return fail(err)
	}
	if exact != "" {
		headers[HeaderExactPath] = exact
	}
	if a.joinsRetrieval() {
		delete(headers, HeaderRetrievePath)
	}
	headers[HeaderSum] = a.wireSum()
	if a.HasBlock() {
		headers[HeaderParts] = a.Block.String()
	}
	return Message{Topic: a.Topic, Headers: headers, Body: a.line(), ContentType: ContentType, Dropped: dropped}, nil
}

// wireSum is never empty: a peer throws without it.
func (a *Announcement) wireSum() string {
	if a.Sum == (Fingerprint{}) {
		return NoSum().String()
	}
	return a.Sum.String()
}

func (a *Announcement) line() []byte {
	stamp, base, rel := a.Time.String(), escapePath(a.Base), escapePath(a.Path)
	if a.joinsRetrieval() {
		base = joinRetrieval(a.Base, a.Header(HeaderRetrievePath))
	}
	b := make([]byte, 0, len(stamp)+len(base)+len(rel)+4)
	b = append(append(b, stamp...), ' ')
	b = append(append(b, base...), ' ')
	b = append(append(b, rel...), ' ')
	if a.Report != nil {
		b = append(append(b, a.Report.String()...), ' ')
	}
	return append(b, '\n')
}

// joinsRetrieval reports whether a retrievePath is written as a srcpath that is the complete URL; one that
// ends with a slash cannot be.
func (a *Announcement) joinsRetrieval() bool {
	p := a.Header(HeaderRetrievePath)
	return p != "" && !strings.HasSuffix(p, "/") && !strings.HasPrefix(a.Base, LocalBase)
}
