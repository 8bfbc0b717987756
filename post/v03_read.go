package post

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"srpump/partition"
)

// maxBody bounds the body of a v03 announcement in bytes, content included.
const maxBody = 16 << 20

// maxShared is the length in bytes of the longest body whose memory is shared by the texts in it.
const maxShared = 4 << 10

// DecodeV03 reads the JSON body of version v03 (sr_post(7), VERSION 3), or of its early form, the
// array [pubTime, baseUrl, relPath, headers]. Members missing, null or of a type nobody expects
// are left out; only who does not say when, whence and what is refused. Errors wrap ErrMalformed.
func DecodeV03(topic string, body []byte) (*Announcement, error) {
	malformed := func(err error) (*Announcement, error) { return nil, fmt.Errorf("%w: %w", ErrMalformed, err) }
	if len(body) > maxBody {
		return malformed(fmt.Errorf("v03 body of %d bytes", len(body)))
	}
	r := readers.Get().(*reader03)
	defer r.release()
	r.scan = newScan03(body)
	r.a, r.size = &Announcement{Topic: topic, Headers: make(map[string]any, 8)}, -1
	if err := r.body(); err != nil {
		return malformed(err)
	}
	if err := r.finish(); err != nil {
		return malformed(err)
	}
	return r.a, nil
}

// A reader03 reads one body.
type reader03 struct {
	scan scan03
	a    *Announcement

	pubTime, exact, method, value, sum, parts string

	size int64 // below zero: not said
	op   fileOp
}

// fileOp is what else happened; the flags say that a member was there.
type fileOp struct {
	link, hlink, rename         string
	isLink, remove, isDirectory bool
}

var readers = sync.Pool{New: func() any { return new(reader03) }}

func (r *reader03) release() {
	*r = reader03{}
	readers.Put(r)
}

// body reads all there is.
func (r *reader03) body() (err error) {
	switch r.scan.kind() {
	case '[':
		err = r.array()
	case '{':
		err = r.scan.object(r.member)
	default:
		return r.scan.bad()
	}
	if err == nil && r.scan.kind() != 0 {
		err = errors.New("v03 body of more than one value")
	}
	return err
}

// array reads the early form.
func (r *reader03) array() error {
	r.scan.pos++
	for _, to := range [...]*string{&r.pubTime, &r.a.Base, &r.a.Path} {
		if err := r.text(to); err != nil {
			return err
		}
		if err := r.scan.take(','); err != nil {
			return err
		}
	}
	if err := r.scan.object(r.member); err != nil {
		return err
	}
	return r.scan.take(']')
}

// text reads a value that is text, or a number or truth value as text, into to. What is neither
// leaves it alone.
func (r *reader03) text(to *string) error {
	switch r.scan.kind() {
	case '"', '0', 't', 'f':
		s, err := r.scan.scalar()
		if err == nil {
			*to = s
		}
		return err
	}
	return r.scan.skip()
}

// number reads an integer, which may be text.
func (r *reader03) number(to *int64) error {
	var s string
	err := r.text(&s)
	if n, bad := strconv.ParseInt(s, 10, 64); bad == nil {
		*to = n
	} else if f, bad := strconv.ParseFloat(s, 64); bad == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		*to = int64(f)
	}
	return err
}

// member reads one member of the body.
func (r *reader03) member(name string) error {
	switch name {
	case "pubTime":
		return r.text(&r.pubTime)
	case "baseUrl":
		return r.text(&r.a.Base)
	case "relPath":
		return r.text(&r.a.Path)
	case HeaderExactPath:
		return r.text(&r.exact)
	case HeaderMtime, HeaderAtime:
		return r.time(name)
	case HeaderSum:
		return r.text(&r.sum)
	case HeaderParts:
		return r.text(&r.parts)
	case "size":
		return r.number(&r.size)
	case "identity", "integrity":
		return r.scan.object(r.identity)
	case "fileOp":
		return r.scan.object(r.fileOp)
	case "blocks":
		return r.blocks()
	case "content":
		return r.content()
	case "report":
		return r.reported()
	}
	return r.header(name)
}

func (r *reader03) identity(name string) error {
	switch name {
	case "method":
		return r.text(&r.method)
	case "value":
		return r.text(&r.value)
	}
	return r.scan.skip()
}

func (r *reader03) fileOp(name string) error {
	switch name {
	case "link":
		r.op.isLink = true
		return r.text(&r.op.link)
	case "hlink":
		return r.text(&r.op.hlink)
	case "rename":
		return r.text(&r.op.rename)
	case "remove":
		r.op.remove = true
	case "directory":
		r.op.isDirectory = true
	}
	return r.scan.skip()
}

// blocks reads which block of a file it is; what is no block of a file is left out.
func (r *reader03) blocks() error {
	var method string
	b := partition.Block{Method: partition.Inplace}
	err := r.scan.object(func(name string) error {
		switch name {
		case "method":
			return r.text(&method)
		case "size":
			return r.number(&b.Size)
		case "count":
			return r.number(&b.Count)
		case "remainder":
			return r.number(&b.Remainder)
		case "number":
			return r.number(&b.Number)
		}
		return r.scan.skip()
	})
	if strings.HasPrefix(method, "part") {
		b.Method = partition.Parted
	}
	if b.Check() == nil {
		r.a.Block = b
	}
	return err
}

// content reads the file itself; in an encoding nobody knows it is left out.
func (r *reader03) content() error {
	var encoding string
	value, there := "", false
	err := r.scan.object(func(name string) error {
		switch name {
		case "encoding":
			return r.text(&encoding)
		case "value":
			there = r.scan.kind() == '"'
			return r.text(&value)
		}
		return r.scan.skip()
	})
	switch {
	case !there:
	case encoding == "base64":
		if data, bad := base64.StdEncoding.DecodeString(value); bad == nil {
			r.a.Content = &Content{Data: data, Binary: true}
		}
	case encoding == "utf-8" || encoding == "utf8":
		r.a.Content = &Content{Data: []byte(value)}
	}
	return err
}

// reported reads what became of the file at one consumer.
func (r *reader03) reported() error {
	if r.scan.kind() != '{' {
		return r.scan.skip()
	}
	r.a.Report = new(Report)
	var code int64
	var elapsed, message string
	err := r.scan.object(func(name string) error {
		switch name {
		case "code", "resultCode":
			return r.number(&code)
		case "host":
			return r.text(&r.a.Report.Host)
		case "user":
			return r.text(&r.a.Report.User)
		case "elapsedTime":
			return r.text(&elapsed)
		case "message":
			return r.text(&message)
		}
		return r.scan.skip()
	})
	if err != nil {
		return err
	}
	if code < 100 || code > 999 {
		return fmt.Errorf("report with code %d", code)
	}
	r.a.Report.Code = int(code)
	if s, bad := strconv.ParseFloat(elapsed, 64); bad == nil && math.Abs(s) < math.MaxInt64/float64(time.Second) {
		r.a.Report.Elapsed = time.Duration(math.Round(s*1e6)) * time.Microsecond
	}
	if message != "" {
		r.a.Headers[HeaderMessage] = message
	}
	return nil
}

// time keeps a date stamp, in the form of v02; what is none is left out.
func (r *reader03) time(name string) error {
	var s string
	err := r.text(&s)
	if t, bad := ParseTimestamp(s); bad == nil {
		r.a.Headers[name] = t.String()
	}
	return err
}

// header keeps a member of no meaning here; null is none.
func (r *reader03) header(name string) error {
	switch r.scan.kind() {
	case '{', '[':
		v, err := r.scan.composite()
		if err == nil && !private(name) {
			r.a.Headers[name] = JSON(v)
		}
		return err
	case 'n':
		return r.scan.skip()
	}
	var s string
	err := r.text(&s)
	if err == nil && !private(name) {
		r.a.Headers[name] = s
	}
	return err
}

// finish makes one announcement of what was read.
func (r *reader03) finish() (err error) {
	a := r.a
	if a.Base == "" || a.Path == "" || strings.IndexByte(a.Path, 0) >= 0 || len(a.Base)+len(a.Path) > maxLine {
		return errors.New("v03 body without baseUrl or relPath")
	}
	if a.Time, err = ParseTimestamp(r.pubTime); err != nil {
		return err
	}
	r.names()
	if a.Topic == "" { // a body alone, from a pipe
		a.Topic = MakeTopic(prefixV03+".post", a.Path, true)
	}
	if !a.HasBlock() && r.size >= 0 {
		a.Block = partition.WholeFile(r.size)
	}
	if !a.HasBlock() && r.parts != "" {
		if b, bad := partition.Parse(r.parts); bad == nil {
			a.Block = b
		}
	}
	r.fingerprint()
	return nil
}

// names settles what srcpath and relpath are. In v03 they are always joined.
func (r *reader03) names() {
	a := r.a
	if raw, err := base64.StdEncoding.DecodeString(r.exact); err == nil && !utf8.Valid(raw) && string([]rune(string(raw))) == a.Path {
		a.Path = string(raw)
	}
	_, rest, isURL := strings.Cut(a.Base, "://")
	if isURL && a.Header(HeaderRetrievePath) == "" && strings.Contains(rest, "/") && !strings.HasSuffix(rest, "/") {
		a.Base += "/"
	}
}

// fingerprint translates identity and fileOp to the header sum, which very old hosts send as it is.
func (r *reader03) fingerprint() {
	a := r.a
	a.SetHeader(HeaderOldname, r.op.rename)
	a.SetHeader(HeaderHlink, r.op.hlink)
	link := r.op.link
	if r.method == "link" && link == "" {
		link = a.Header(HeaderLink)
	}
	switch {
	case r.op.isLink || r.method == "link":
		a.SetHeader(HeaderLink, link)
		a.Sum = OfLink(link)
	case r.op.remove:
		a.Sum = OfRemoval(path.Base(a.Path))
		if r.op.isDirectory {
			a.Sum.Method = SumRmdir
		}
	case r.op.isDirectory:
		a.Sum = OfRemoval(path.Base(a.Path))
		a.Sum.Method = SumMkdir
	case r.method != "":
		a.Sum = ofIdentity(r.method, r.value, a.Path)
	case r.sum != "":
		a.Sum, _ = ParseSum(r.sum)
	}
}
