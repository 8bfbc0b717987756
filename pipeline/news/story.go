package news

import (
	"math"
	"time"
)

// A Story is what is known of one article. Any field may be nil, which is null in JSON; the
// names and the order are those of the WARC metadata record of Media Cloud's story-indexer.
// What is in the JSON and not here is kept, and written back behind what is known.
type Story struct {
	RSS     RSSEntry
	HTTP    HTTPMetadata
	Content ContentMetadata
	// Failure is why the story is in quarantine; nil otherwise, and then not written.
	Failure *Failure
	Extra   []Member

	// Page is the article as the server sent it, content codings undone; nil before it was
	// fetched. It is no part of the JSON.
	Page []byte
	// PageEncoding is the charset of the page when HTTP.Encoding is nil.
	PageEncoding *string

	// ID and PageID are the ids of the metadata and the response record, in brackets. They stay
	// with the story from step to step; the writer makes those that are "".
	ID, PageID string
	// Date is WARC-Date of the metadata record, as read.
	Date time.Time
	// Offset is where in the file the metadata record was read, in bytes.
	Offset int64
}

// RSSEntry is where the address of the story was found.
type RSSEntry struct {
	Link      *string // URL; in historical stories a number of the old system
	Title     *string
	Domain    *string
	PubDate   *string // RFC 2822
	FetchDate *string // YYYY-MM-DD, in production an ISO time
	SourceURL *string // of the feed
	FeedID    *int64
	SourceID  *int64
	Via       *string // for people: which archive, which server
	Extra     []Member
}

// HTTPMetadata is what the server said.
type HTTPMetadata struct {
	ResponseCode   *int64
	FetchTimestamp *float64 // Unix time in seconds
	FinalURL       *string  // after redirects
	Encoding       *string  // charset
	Extra          []Member
}

// ContentMetadata is what was read out of the page.
type ContentMetadata struct {
	OriginalURL            *string
	URL                    *string
	NormalizedURL          *string
	CanonicalDomain        *string
	PublicationDate        *string // YYYY-MM-DD
	Language               *string // ISO 639-1
	FullLanguage           *string
	TextExtractionMethod   *string
	ArticleTitle           *string
	NormalizedArticleTitle *string
	TextContent            *string
	IsHomepage             *bool
	IsShortened            *bool
	ParsedDate             *string // UTC, ISO, without a zone
	CanonicalURL           *string
	Extra                  []Member
}

// A Failure is why a story was set aside. It stands in the JSON as "fault".
type Failure struct {
	Who     *string  // the command
	When    *float64 // Unix time in seconds
	What    *string  // the error, at most 100 characters
	Where   *string
	Retries *int64
	Extra   []Member
}

// NewFailure is one of now; where may be "".
func NewFailure(who string, at time.Time, err error, where string, retries int) *Failure {
	const most = 100 // as in the header x-mc-what
	what := []rune(err.Error())
	f := &Failure{Who: &who, When: new(unix(at)), What: new(string(what[:min(most, len(what))])), Retries: new(int64(retries))}
	if where != "" {
		f.Where = &where
	}
	return f
}

func unix(at time.Time) float64 { return float64(at.UnixMicro()) / 1e6 }

// A field is one that is known: its name in JSON, and where its value is.
type field struct {
	name string
	at   any // **string, **int64, **float64 or **bool
}

func (e *RSSEntry) fields() []field {
	return []field{
		{"link", &e.Link}, {"title", &e.Title}, {"domain", &e.Domain}, {"pub_date", &e.PubDate}, {"fetch_date", &e.FetchDate},
		{"source_url", &e.SourceURL}, {"source_feed_id", &e.FeedID}, {"source_source_id", &e.SourceID}, {"via", &e.Via},
	}
}

func (h *HTTPMetadata) fields() []field {
	return []field{
		{"response_code", &h.ResponseCode}, {"fetch_timestamp", &h.FetchTimestamp}, {"final_url", &h.FinalURL}, {"encoding", &h.Encoding},
	}
}

func (c *ContentMetadata) fields() []field {
	return []field{
		{"original_url", &c.OriginalURL}, {"url", &c.URL}, {"normalized_url", &c.NormalizedURL}, {"canonical_domain", &c.CanonicalDomain},
		{"publication_date", &c.PublicationDate}, {"language", &c.Language}, {"full_language", &c.FullLanguage},
		{"text_extraction_method", &c.TextExtractionMethod}, {"article_title", &c.ArticleTitle},
		{"normalized_article_title", &c.NormalizedArticleTitle}, {"text_content", &c.TextContent}, {"is_homepage", &c.IsHomepage},
		{"is_shortened", &c.IsShortened}, {"parsed_date", &c.ParsedDate}, {"canonical_url", &c.CanonicalURL},
	}
}

func (f *Failure) fields() []field {
	return []field{{"who", &f.Who}, {"when", &f.When}, {"what", &f.What}, {"where", &f.Where}, {"retries", &f.Retries}}
}

// A section is one of the objects of the metadata.
type section struct {
	name   string
	fields []field
	extra  *[]Member
}

func (s *Story) sections() []section {
	all := []section{
		{"rss_entry", s.RSS.fields(), &s.RSS.Extra},
		{"http_metadata", s.HTTP.fields(), &s.HTTP.Extra},
		{"content_metadata", s.Content.fields(), &s.Content.Extra},
	}
	if s.Failure != nil {
		all = append(all, section{"fault", s.Failure.fields(), &s.Failure.Extra})
	}
	return all
}

// URL is the address of the story: where the page came from, else what the content says, else
// where it was to be fetched; "" when there is none.
func (s *Story) URL() string {
	for _, url := range []*string{s.HTTP.FinalURL, s.Content.URL, s.Content.OriginalURL, s.RSS.Link} {
		if url != nil && *url != "" {
			return *url
		}
	}
	return ""
}

// Charset is the charset of the page, as it was told or found; "" when unknown.
func (s *Story) Charset() string {
	for _, name := range []*string{s.HTTP.Encoding, s.PageEncoding} {
		if name != nil && *name != "" {
			return *name
		}
	}
	return ""
}

// Fetched is when the page was, to the second; now when that is not known.
func (s *Story) Fetched(now time.Time) time.Time {
	const last = 253402300799 // of the year 9999
	at := now
	if t := s.HTTP.FetchTimestamp; t != nil && *t >= 0 && *t <= last {
		at = time.Unix(int64(math.Floor(*t)), 0)
	}
	return at.UTC().Truncate(time.Second)
}

// Indexed is when the story was parsed, in UTC and without a zone, as the index has it: a date
// alone stays one, and a story that does not tell has the date of its record.
func (s *Story) Indexed() string {
	const form = "2006-01-02T15:04:05.999999"
	if p := s.Content.ParsedDate; p != nil && *p != "" {
		if t, err := time.Parse(time.RFC3339Nano, *p); err == nil {
			return t.UTC().Format(form)
		}
		return *p
	}
	if s.Date.IsZero() {
		return ""
	}
	return s.Date.UTC().Format(form)
}
