package retry

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"srpump/post"
)

// A line is a JSON array ["<topic>", {headers}, "<ts> <base> <relpath>"], headers in order of
// their names and relpath escaped as on the wire, which the retry files of the Python tools
// hold too. Our own bookkeeping is in headers none of them sends on. A later line of the
// same relpath, sum and parts takes the place of an earlier one; one tagged done ends both.
const (
	headerTag       = "_retry_tag_"
	tagDone         = "done"
	headerTries     = "_retry_tries"
	headerPermanent = "_retry_permanent" // failures of class Permanent
	headerAfter     = "_retry_after"     // not before this time
	headerSince     = "_retry_since"     // the first failure
	headerWhy       = "_retry_why"
	headerClass     = "_retry_class"
	headerExchange  = "_retry_exchange" // it came through, where that was said
	headerContent   = "_retry_content"  // of v03, its encoding, a comma and the bytes in base64
	headerTypes     = "_retry_types"    // values that are no text (value.go)
)

const maxWhy = 500 // bytes of a reason that are kept

// An id stands for srcpath, relpath, sum, parts and exchange: another source of the same is
// another entry.
type id [16]byte

func idOf(a *post.Announcement) id {
	parts := ""
	if a.HasBlock() {
		parts = a.Block.String()
	}
	s := sha256.Sum256([]byte(a.Base + "\x00" + a.Path + "\x00" + a.Sum.String() + "\x00" + parts + other(a)))
	return id(s[:16])
}

// other is empty for an announcement of a file of which no exchange is remembered, as the lines
// of other tools hold. Reports of one file differ in what they say.
func other(a *post.Announcement) string {
	s := ""
	if a.Exchange != "" {
		s = "\x00" + a.Exchange
	}
	if a.Report != nil {
		s += "\x00" + a.Report.String() + "\x00" + a.Header(post.HeaderMessage)
	}
	return s
}

// state is the bookkeeping of one entry, times as on the wire.
type state struct {
	tries, permanent int
	after, since     time.Time
	class            Class
	why              string
}

// encodeLine writes an entry, with its line feed.
func encodeLine(a *post.Announcement, s *state) ([]byte, error) {
	m, err := wire(a)
	if err != nil {
		return nil, err
	}
	m.Headers[headerTries] = strconv.Itoa(s.tries)
	m.Headers[headerPermanent] = strconv.Itoa(s.permanent)
	m.Headers[headerAfter] = post.FormatTime(s.after)
	m.Headers[headerSince] = post.FormatTime(s.since)
	m.Headers[headerClass] = string(s.class)
	m.Headers[headerWhy] = s.why
	return marshalLine(m)
}

// encodeDone writes the line that ends an entry.
func encodeDone(a *post.Announcement) ([]byte, error) {
	short := post.Announcement{Topic: a.Topic, Time: a.Time, Base: a.Base, Path: a.Path, Sum: a.Sum, Block: a.Block, Exchange: a.Exchange, Report: a.Report}
	if a.Report != nil {
		short.SetHeader(post.HeaderMessage, a.Header(post.HeaderMessage))
	}
	m, err := wire(&short)
	if err != nil {
		return nil, err
	}
	m.Headers[headerTag] = tagDone
	return marshalLine(m)
}

// wire is the message for a with every header it has, those too long to be sent included,
// and without a sum where it has none.
func wire(a *post.Announcement) (post.Message, error) {
	bare := *a
	bare.Headers = nil
	m, err := post.EncodeV02(&bare)
	if err != nil {
		return m, err
	}
	if a.Sum == (post.Fingerprint{}) {
		delete(m.Headers, post.HeaderSum)
	}
	for k, v := range a.Headers {
		if _, ours := m.Headers[k]; !ours && !strings.HasPrefix(k, "_retry_") {
			m.Headers[k] = v
		}
	}
	if a.Exchange != "" {
		m.Headers[headerExchange] = a.Exchange
	}
	if a.Content != nil {
		m.Headers[headerContent] = packContent(a.Content)
	}
	return m, nil
}

func marshalLine(m post.Message) ([]byte, error) {
	if err := textHeaders(m.Headers); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode([]any{m.Topic, m.Headers, strings.TrimSuffix(string(m.Body), " \n")})
	return b.Bytes(), err
}

// decodeLine reads a line of ours or of a Python tool. done says that it ends an entry.
func decodeLine(b []byte) (a *post.Announcement, s state, done bool, err error) {
	var parts [3]json.RawMessage
	d := json.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(&parts); err != nil {
		return nil, s, false, err
	}
	var topic, notice string
	headers, err := readHeaders(parts[1])
	if err = errors.Join(err, json.Unmarshal(parts[0], &topic), json.Unmarshal(parts[2], &notice)); err != nil {
		return nil, s, false, err
	}
	done = headers[headerTag] == tagDone
	s = readState(headers)
	exchange, _ := headers[headerExchange].(string)
	content := unpackContent(headers)
	maps.DeleteFunc(headers, func(k string, _ any) bool { return strings.HasPrefix(k, "_retry_") })
	if a, err = post.DecodeV02(topic, headers, []byte(notice)); err == nil {
		a.Exchange, a.Content = exchange, content
	}
	return a, s, done, err
}

// readState reads our headers; a line that has none was never tried by us.
func readState(h map[string]any) state {
	str := func(k string) string { v, _ := h[k].(string); return v }
	num := func(k string) int { n, _ := strconv.Atoi(str(k)); return n }
	at := func(k string) time.Time { t, _ := post.ParseTimestamp(str(k)); return t.Time() }
	s := state{tries: num(headerTries), permanent: num(headerPermanent), after: at(headerAfter), since: at(headerSince), class: Class(str(headerClass)), why: str(headerWhy)}
	if s.class == "" {
		s.class = Temporary
	}
	return s
}

func readHeaders(b []byte) (map[string]any, error) {
	h := map[string]any{}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&h); err != nil {
		return nil, err
	}
	if h == nil {
		return nil, errors.New("no headers")
	}
	for k, v := range h {
		h[k] = plain(v)
	}
	types, there := h[headerTypes].(string)
	if !there {
		return h, nil
	}
	if err := restore(h, types); err != nil {
		return nil, fmt.Errorf("bad header %q: %w", headerTypes, err)
	}
	return h, nil
}
