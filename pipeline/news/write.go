package news

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"srpump/pipeline/warc"
)

// MaxStory is how large page and metadata of a story may be together, in bytes.
const MaxStory = 16 << 20

// ContentType is that of the metadata record.
const ContentType = "application/x.mediacloud-indexer+json"

// ErrNoURL is a story with a page and no address at all: it cannot be archived.
var ErrNoURL = errors.New("the story has no URL")

// ErrTooLarge is a story of more than MaxStory bytes.
var ErrTooLarge = fmt.Errorf("the story is larger than %d bytes", MaxStory)

// Records are the records of a story, in their order: the response with the page, and the metadata;
// of a story without a page the metadata alone. Their date is when the page was fetched, else now. The
// story is given the ids it has not.
func (s *Story) Records(now time.Time) ([]*warc.Record, error) {
	url, text := s.URL(), s.JSON()
	if url == "" && s.Page != nil {
		return nil, ErrNoURL
	}
	if len(s.Page)+len(text) > MaxStory {
		return nil, ErrTooLarge
	}
	for _, id := range []*string{&s.ID, &s.PageID} {
		if *id == "" {
			*id = warc.NewID()
		}
	}
	date := warc.FormatDate(warc.V10, s.Fetched(now))
	meta := &warc.Record{Version: warc.V10, Block: bytes.NewReader(text), Size: int64(len(text))}
	meta.Fields.Add(warc.FieldContentType, ContentType)
	if s.Page != nil {
		meta.Fields.Add(warc.FieldRefersTo, s.PageID)
	}
	about(meta, date, warc.Metadata, s.ID, url)
	if s.Page == nil {
		return []*warc.Record{meta}, nil
	}
	block, err := s.response()
	if err != nil {
		return nil, err
	}
	page := &warc.Record{Version: warc.V10, ContentType: "application/http; msgtype=response", Block: bytes.NewReader(block), Size: int64(len(block))}
	about(page, date, warc.Response, s.PageID, url)
	return []*warc.Record{page, meta}, nil
}

// about adds what all records tell, in the order of the reference.
func about(r *warc.Record, date, kind, id, url string) {
	r.Fields.Add(warc.FieldDate, date)
	r.Fields.Add(warc.FieldType, kind)
	r.Fields.Add(warc.FieldID, id)
	r.Fields.Add(warc.FieldURI, url)
}

// response is the HTTP message around the page. The header is not what the server sent: it has
// the status, and the charset under the name "encoding", as the reference does.
func (s *Story) response() ([]byte, error) {
	status := "None HUH?"
	if c := s.HTTP.ResponseCode; c != nil {
		status = strconv.FormatInt(*c, 10) + " HUH?"
		if *c == 200 {
			status = "200 OK"
		}
	}
	media := "text/html"
	if name := s.Charset(); name != "" {
		if strings.ContainsAny(name, "\r\n\x00") {
			return nil, fmt.Errorf("the charset %q has a line end in it", name)
		}
		media += "; encoding=" + name
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.0 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", status, media, len(s.Page))
	b.Write(s.Page)
	return b.Bytes(), nil
}

// Fragment is the story as it travels: its records, a gzip member each.
func (s *Story) Fragment(now time.Time) ([]byte, error) {
	records, err := s.Records(now)
	if err != nil {
		return nil, fmt.Errorf("cannot write the story of %q: %w", s.URL(), err)
	}
	var b bytes.Buffer
	w, err := warc.NewWriter(&b, warc.WriteOptions{Workers: 1, SpillAt: MaxStory + 1<<10})
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		if _, err = w.Add(r); err != nil {
			err = fmt.Errorf("cannot write the story of %q: %w", s.URL(), err)
			break
		}
	}
	if closed := w.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
