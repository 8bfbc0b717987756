package post

import (
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"srpump/partition"
)

// EncodeV03 writes the JSON body of version v03 (sr_post(7), VERSION 3). The message has no
// headers. It leaves a as it is.
func EncodeV03(a *Announcement) (Message, error) {
	if a.Path == "" || strings.IndexByte(a.Path, 0) >= 0 {
		return Message{}, fmt.Errorf("cannot encode %.80q: %w", a.Path, errors.New("empty path or NUL in it"))
	}
	w := writer03{b: make([]byte, 0, 320+2*len(a.Path))}
	w.b = append(w.b, '{')
	w.stamp("pubTime", a.Time.String())
	w.place(a)
	w.events(a)
	w.identity(a.Sum)
	w.size(a.Block)
	if a.Content != nil {
		w.content(*a.Content)
	}
	if a.Report != nil {
		w.report(*a.Report, a.Header(HeaderMessage))
	}
	dropped := w.headers(a)
	w.b = append(w.b, '}')
	return Message{Topic: a.Topic, Body: w.b, ContentType: ContentTypeV03, Dropped: dropped}, nil
}

// A writer03 appends members to a JSON object.
type writer03 struct{ b []byte }

func (w *writer03) name(name string) {
	if last := w.b[len(w.b)-1]; last != '{' {
		w.b = append(w.b, ',')
	}
	w.quote(name)
	w.b = append(w.b, ':')
}

// quote replaces what is not UTF-8, which JSON cannot hold; the error says only that. Printable ASCII
// goes as it is: the general way takes three times as long.
func (w *writer03) quote(s string) {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			w.b, _ = jsontext.AppendQuote(w.b, s)
			return
		}
	}
	w.b = append(append(append(w.b, '"'), s...), '"')
}

func (w *writer03) str(name, value string) {
	w.name(name)
	w.quote(value)
}

func (w *writer03) num(name string, value int64) {
	w.name(name)
	w.b = strconv.AppendInt(w.b, value, 10)
}

func (w *writer03) open(name string) {
	w.name(name)
	w.b = append(w.b, '{')
}

func (w *writer03) close() { w.b = append(w.b, '}') }

// stamp writes a date stamp of v02, with the T of v03 before its hours.
func (w *writer03) stamp(name, s string) {
	w.name(name)
	w.b = append(append(append(append(append(w.b, '"'), s[:8]...), 'T'), s[8:]...), '"')
}

// place writes where the file is and what it is called. A srcpath that is the complete URL
// becomes a retrievePath.
func (w *writer03) place(a *Announcement) {
	base, retrieve, rel := a.Base, "", a.Path
	if a.Header(HeaderRetrievePath) == "" {
		base, retrieve, rel = a.static()
	}
	w.str("baseUrl", base)
	w.str("relPath", rel)
	if retrieve != "" {
		w.str(HeaderRetrievePath, retrieve)
	}
	if !utf8.ValidString(rel) {
		w.str(HeaderExactPath, base64.StdEncoding.EncodeToString([]byte(rel)))
	}
}

// static splits a srcpath that is beyond doubt the complete URL behind its host; else retrieve is empty.
func (a *Announcement) static() (base, retrieve, rel string) {
	if strings.HasSuffix(a.Base, "/") || strings.HasPrefix(a.Base, LocalBase) {
		return a.Base, "", a.Path
	}
	r, err := a.locate(BaseAuto)
	scheme, rest, ok := strings.Cut(a.Base, "://")
	host, file, below := strings.Cut(rest, "/")
	if err != nil || !ok || !below || r.Second != "" || r.URL != escapePath(a.Base) {
		return a.Base, "", a.Path
	}
	rel = a.Path
	if strings.HasSuffix(rel, "/") {
		rel += baseName(r.URL)
	}
	return scheme + "://" + host + "/", file, rel
}

// events writes what else happened than that bytes changed.
func (w *writer03) events(a *Announcement) {
	old, hard := a.Header(HeaderOldname), a.Header(HeaderHlink)
	directory := a.Sum.Method == SumMkdir || a.Sum.Method == SumRmdir
	if old == "" && hard == "" && !directory && !a.Sum.IsRemoval() && !a.Sum.IsLink() {
		return
	}
	w.open("fileOp")
	if a.Sum.IsLink() {
		w.str("link", a.Header(HeaderLink))
	}
	if a.Sum.IsRemoval() {
		w.str("remove", "")
	}
	if directory {
		w.str("directory", "")
	}
	if hard != "" {
		w.str("hlink", hard)
	}
	if old != "" {
		w.str("rename", old)
	}
	w.close()
}

// identity writes a fingerprint: a checksum in base64, what v03 has no word for by its letter, and nothing
// for what fileOp says.
func (w *writer03) identity(sum Fingerprint) {
	method, value := sum.identity()
	if method == "" {
		return
	}
	var raw [sha512.Size]byte
	n := sum.digest(raw[:])
	w.open("identity")
	if n > 0 {
		method = longMethod(method)
	}
	w.str("method", method)
	w.name("value")
	if n > 0 {
		w.b = append(base64.StdEncoding.AppendEncode(append(w.b, '"'), raw[:n]), '"')
	} else {
		w.quote(value)
	}
	w.close()
}

// size writes the number of bytes announced and, of a file in blocks, which they are.
func (w *writer03) size(b partition.Block) {
	if b.Method == 0 {
		return
	}
	w.num("size", b.Length())
	if b.Method == partition.Whole {
		return
	}
	w.open("blocks")
	w.str("method", blockMethods(b.Method))
	w.num("size", b.Size)
	w.num("count", b.Count)
	w.num("remainder", b.Remainder)
	w.num("number", b.Number)
	w.close()
}

func blockMethods(m partition.Method) string {
	if m == partition.Parted {
		return "partitioned"
	}
	return "inplace"
}

// content is carried as text where it is that and nobody wants it otherwise, else in base64.
func (w *writer03) content(c Content) {
	w.open("content")
	if c.Binary || !c.Textual() {
		w.str("encoding", "base64")
		w.str("value", base64.StdEncoding.EncodeToString(c.Data))
	} else {
		w.str("encoding", "utf-8")
		w.str("value", string(c.Data))
	}
	w.close()
}

func (w *writer03) report(r Report, message string) {
	w.open("report")
	w.num("code", int64(r.Code))
	w.str("host", r.Host)
	w.str("user", r.User)
	w.name("elapsedTime")
	w.b = strconv.AppendFloat(w.b, r.Elapsed.Seconds(), 'f', 6, 64)
	w.str("message", message)
	w.close()
}

// headers writes all others, in order of their names, and returns those JSON has no form for.
func (w *writer03) headers(a *Announcement) (dropped []string) {
	names := make([]string, 0, 16)
	for k := range a.Headers {
		if !private(k) && !told(a, k) {
			names = append(names, k)
		}
	}
	slices.Sort(names)
	for _, k := range names {
		switch v := a.Headers[k].(type) {
		case JSON:
			w.name(k)
			w.b = append(w.b, v...)
		default:
			s, ok := scalar(v)
			if !ok {
				dropped = append(dropped, k)
				continue
			}
			if k == HeaderMtime || k == HeaderAtime {
				if t, err := ParseTimestamp(s); err == nil {
					w.stamp(k, t.String())
					continue
				}
			}
			w.str(k, s)
		}
	}
	return dropped
}

// told reports whether a header is written elsewhere.
func told(a *Announcement, name string) bool {
	switch name {
	case HeaderOldname, HeaderHlink, "report":
		return true
	case HeaderLink:
		return a.Sum.IsLink()
	case HeaderMessage:
		return a.Report != nil
	}
	return false
}

// scalar is a header's value as text.
func scalar(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case []byte:
		return string(v), true
	case bool, int, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64:
		return fmt.Sprint(v), true
	}
	return "", false
}
