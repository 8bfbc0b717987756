package news

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// golden is the story of which goldenRecords are the records, byte by byte as the reference writes
// them.
func golden() *Story {
	url := "https://example.com/a"
	return &Story{
		RSS:    RSSEntry{Link: &url, Title: new("Café"), FeedID: new(int64(7))},
		HTTP:   HTTPMetadata{ResponseCode: new(int64(200)), FetchTimestamp: new(1700000000.25), FinalURL: &url, Encoding: new("utf-8")},
		Page:   []byte("<html>café</html>"),
		PageID: "<urn:uuid:195dc8da-1100-475f-8545-d8af710778b4>",
		ID:     "<urn:uuid:37e9bb96-d0db-4f73-b377-ecdbcf85e4b4>",
	}
}

const goldenPage = "WARC/1.0\r\nWARC-Date: 2023-11-14T22:13:20Z\r\nWARC-Type: response\r\n" +
	"WARC-Record-ID: <urn:uuid:195dc8da-1100-475f-8545-d8af710778b4>\r\nWARC-Target-URI: https://example.com/a\r\n" +
	"WARC-Payload-Digest: sha1:HIDCVLBW65YTOJDCGLH4UFGCUVYVAEJR\r\nWARC-Block-Digest: sha1:FMDWPRURHQQPTQDMRU6MTJFL5TECR4A7\r\n" +
	"Content-Type: application/http; msgtype=response\r\nContent-Length: 98\r\n\r\n" +
	"HTTP/1.0 200 OK\r\nContent-Type: text/html; encoding=utf-8\r\nContent-Length: 18\r\n\r\n<html>café</html>\r\n\r\n"

const goldenMeta = "WARC/1.0\r\nContent-Type: application/x.mediacloud-indexer+json\r\n" +
	"WARC-Refers-To: <urn:uuid:195dc8da-1100-475f-8545-d8af710778b4>\r\nWARC-Date: 2023-11-14T22:13:20Z\r\nWARC-Type: metadata\r\n" +
	"WARC-Record-ID: <urn:uuid:37e9bb96-d0db-4f73-b377-ecdbcf85e4b4>\r\nWARC-Target-URI: https://example.com/a\r\n" +
	"WARC-Payload-Digest: sha1:"

const goldenJSON = `{
  "rss_entry": {
    "link": "https://example.com/a",
    "title": "Caf\u00e9",
    "domain": null,
    "pub_date": null,
    "fetch_date": null,
    "source_url": null,
    "source_feed_id": 7,
    "source_source_id": null,
    "via": null
  },
  "http_metadata": {
    "response_code": 200,
    "fetch_timestamp": 1700000000.25,
    "final_url": "https://example.com/a",
    "encoding": "utf-8"
  },
  "content_metadata": {
    "original_url": null,
    "url": null,
    "normalized_url": null,
    "canonical_domain": null,
    "publication_date": null,
    "language": null,
    "full_language": null,
    "text_extraction_method": null,
    "article_title": null,
    "normalized_article_title": null,
    "text_content": null,
    "is_homepage": null,
    "is_shortened": null,
    "parsed_date": null,
    "canonical_url": null
  }
}`

func fragment(t testing.TB, s *Story) []byte {
	t.Helper()
	b, err := s.Fragment(time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// plain is the text of the gzip members of a file.
func plain(t testing.TB, file []byte) string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The records are byte by byte those of the reference.
func TestGolden(t *testing.T) {
	text := plain(t, fragment(t, golden()))
	page, meta := text[:min(len(goldenPage), len(text))], text[min(len(goldenPage), len(text)):]
	if page != goldenPage {
		t.Errorf("the response is\n%s\nnot\n%s", page, goldenPage)
	}
	if !strings.HasPrefix(meta, goldenMeta) || !strings.HasSuffix(meta, "\r\n\r\n"+goldenJSON+"\r\n\r\n") {
		t.Errorf("the metadata is\n%s", meta)
	}
}

// Everything that is known, and what is not, comes back.
func TestRoundTrip(t *testing.T) {
	s := golden()
	s.RSS.Extra = []Member{{"x", []byte(`{"b": [1, {}, [], "é\n"], "a": 1e3}`)}}
	s.Extra = []Member{{"rabbitmq_headers", []byte(`{"x-mc-who":null}`)}}
	s.Content.IsHomepage, s.Content.TextContent = new(false), new("<&>\u2028\U0001f600\"\\\x7f\x00")
	s.Failure = NewFailure("news_fetch", time.Unix(5, 500000000), errors.New(strings.Repeat("é", 200)), "", 3)
	b := fragment(t, s)
	got, err := Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	if string(got.JSON()) != string(s.JSON()) || !bytes.Equal(got.Page, s.Page) || got.ID != s.ID || got.PageID != s.PageID || *got.PageEncoding != "utf-8" {
		t.Errorf("%s\nis not\n%s", got.JSON(), s.JSON())
	}
	for _, want := range []string{
		`"text_content": "<&>\u2028\ud83d\ude00\"\\\u007f\u0000"`, `"retries": 3`, `"when": 5.5`, `"where": null`,
		"\"x\": {\n      \"b\": [\n        1,\n        {},\n        [],\n        \"\\u00e9\\n\"\n      ],\n      \"a\": 1e3\n    }\n  },",
		"\"rabbitmq_headers\": {\n    \"x-mc-who\": null\n  }\n}",
	} {
		if !strings.Contains(string(s.JSON()), want) {
			t.Errorf("%s\nhas no\n%s", s.JSON(), want)
		}
	}
	if what := []rune(*got.Failure.What); len(what) != 100 {
		t.Errorf("the failure has %d characters", len(what))
	}
	if again, _ := got.Fragment(time.Unix(9, 0)); !bytes.Equal(again, b) {
		t.Error("written again it is another fragment")
	}
}

// A story without an address cannot have a page; without a page it is metadata alone; without
// a status it has the one the reference gives it.
func TestSparse(t *testing.T) {
	s := &Story{RSS: RSSEntry{Link: new("http://example.com/")}, Page: []byte{}}
	text := plain(t, fragment(t, s))
	if !strings.Contains(text, "HTTP/1.0 None HUH?\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n") || !strings.Contains(text, "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ") || !strings.Contains(text, "1970-01-01T00:00:01Z") {
		t.Errorf("%s", text)
	}
	if got, err := Parse(fragment(t, s)); err != nil || got.Page == nil || len(got.Page) > 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := Parse(fragment(t, &Story{})); err != nil || got.Page != nil || string(got.JSON()) != string((&Story{}).JSON()) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := (&Story{Page: []byte("x")}).Fragment(time.Now()); !errors.Is(err, ErrNoURL) {
		t.Errorf("no address: %v", err)
	}
	for _, bad := range []*Story{
		{RSS: RSSEntry{Link: new("http://a\r\nWARC-Type: x")}, Page: []byte("x")},
		{RSS: RSSEntry{Link: new("http://a")}, HTTP: HTTPMetadata{Encoding: new("x\r\ny")}, Page: []byte("x")},
		{RSS: RSSEntry{Link: new("http://a")}, Page: make([]byte, MaxStory)},
	} {
		if b, err := bad.Fragment(time.Now()); err == nil {
			t.Errorf("written: %q", b[:min(len(b), 100)])
		}
	}
}

// What others write is taken for what it means.
func TestParseJSON(t *testing.T) {
	s, err := ParseJSON([]byte("\ufeff" + `{"rss_entry": {"source_feed_id": "7", "source_source_id": 8.0, "link": 3211617605}, "http_metadata": null,
		"content_metadata": {"is_homepage": "true", "url": null, "new": 1, "new": 2}}`))
	if err != nil || *s.RSS.FeedID != 7 || *s.RSS.SourceID != 8 || *s.RSS.Link != "3211617605" || !*s.Content.IsHomepage || s.Content.URL != nil || len(s.Content.Extra) != 1 || string(s.Content.Extra[0].Value) != "2" {
		t.Errorf("%+v, %v", s, err)
	}
	for _, bad := range []string{"", "[]", "{", `{"rss_entry": []}`, `{"rss_entry": {"link": {}}}`, `{"http_metadata": {"response_code": "x"}}`, `{} {}`,
		`{"x": ` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + "}"} {
		if s, err := ParseJSON([]byte(bad)); err == nil {
			t.Errorf("%q is %+v", bad, s)
		}
	}
}

func TestTimes(t *testing.T) {
	s := &Story{Date: time.Unix(1700000000, 0)}
	for parsed, want := range map[string]string{"": "2023-11-14T22:13:20", "2024-01-02": "2024-01-02", "2024-01-02T03:04:05.5+02:00": "2024-01-02T01:04:05.5", "2024-01-02T03:04:05.123456": "2024-01-02T03:04:05.123456"} {
		s.Content.ParsedDate = &parsed
		if got := s.Indexed(); got != want {
			t.Errorf("%q is indexed as %q, not %q", parsed, got, want)
		}
	}
	for _, f := range []float64{-1, 1e300} {
		if got := (&Story{HTTP: HTTPMetadata{FetchTimestamp: &f}}).Fetched(time.Unix(3, 9)); got.Unix() != 3 || got.Nanosecond() != 0 {
			t.Errorf("%g was fetched at %v", f, got)
		}
	}
	for f, want := range map[float64]string{1e16: "1e+16", 1e-5: "1e-05", 1700000000: "1700000000.0", 0.1: "0.1"} {
		if got := string(appendFloat(nil, f)); got != want {
			t.Errorf("%s is not %s", got, want)
		}
	}
}

// Whatever is read as a story is written and read again as the same.
func FuzzParseJSON(f *testing.F) {
	f.Add([]byte(goldenJSON))
	f.Add([]byte(`{"rss_entry":{"link":"\ud800","x":[{"\u0000":1e999}]},"fault":{}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ParseJSON(text)
		if err != nil {
			return
		}
		again, err := ParseJSON(s.JSON())
		if err != nil || string(again.JSON()) != string(s.JSON()) {
			t.Errorf("%q became %q, %v", text, s.JSON(), err)
		}
	})
}

// gz writes one gzip member.
func gz(t testing.TB, to io.Writer, text string) {
	t.Helper()
	z := gzip.NewWriter(to)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
}
