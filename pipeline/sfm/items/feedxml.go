package items

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/html/charset"
)

// An element is one of an item in XML.
type element struct {
	XMLName xml.Name
	Attrs   []xml.Attr `xml:",any,attr"`
	Text    string     `xml:",chardata"`
	Inner   string     `xml:",innerxml"`
	Name    string     `xml:"name"` // of an author, and
	URI     string     `xml:"uri"`  // the address
}

// An entry is an item of RSS or Atom.
type entry struct {
	Attrs []xml.Attr `xml:",any,attr"`
	Parts []element  `xml:",any"`
}

// xmlFeed reads RSS 2.0, RSS 1.0 or Atom 1.0.
func (p *page) xmlFeed(in *bufio.Reader) error {
	dec := xml.NewDecoder(p.characters(in))
	dec.Strict, dec.Entity = false, xml.HTMLEntity
	if start, _ := in.Peek(2); utf16(start) {
		dec.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	} else {
		dec.CharsetReader = charset.NewReaderLabel
	}
	for root := true; ; {
		token, err := dec.Token()
		if err != nil {
			return ignoreEOF(err)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		switch name := start.Name.Local; {
		case root && name != "rss" && name != "RDF" && name != "feed":
			return fmt.Errorf("it is a document of %q, and no feed", name)
		case name == "item" || name == "entry":
			var e entry
			if err := dec.DecodeElement(&e, &start); err != nil {
				return err
			}
			if err := p.emitFeed(e.item()); err != nil {
				return err
			}
		}
		root = false
	}
}

func utf16(start []byte) bool {
	return bytes.Equal(start, []byte("\xff\xfe")) || bytes.Equal(start, []byte("\xfe\xff"))
}

// characters are those of a document with a mark of its byte order, as UTF-8; others say in
// their first line how they are encoded.
func (p *page) characters(in *bufio.Reader) io.Reader {
	start, _ := in.Peek(2)
	if !utf16(start) {
		return in
	}
	label := "utf-16le"
	if start[0] == 0xfe {
		label = "utf-16be"
	}
	out, err := charset.NewReaderLabel(label, in)
	if err != nil {
		return in
	}
	return out
}

// item is an entry as an item of JSON Feed.
func (e *entry) item() feedItem {
	var f feedItem
	for _, part := range e.Parts {
		f.add(part)
	}
	if f.URL == "" {
		f.URL = attribute(e.Attrs, "about")
	}
	return f
}

// add takes in one element. Those of vocabularies that only say the same again, such as that of
// media, do not replace what the feed itself says.
func (f *feedItem) add(x element) {
	text := strings.TrimSpace(x.Text)
	if space := x.XMLName.Space; strings.Contains(space, "/mrss") || strings.Contains(space, "itunes") {
		f.addMedia(x)
		return
	}
	switch x.XMLName.Local {
	case "guid", "id":
		first(&f.ID, text)
		if x.XMLName.Local == "guid" && attribute(x.Attrs, "isPermaLink") != "false" && strings.HasPrefix(text, "http") {
			first(&f.URL, text)
		}
	case "link":
		f.addLink(x, text)
	case "enclosure":
		f.attach(attribute(x.Attrs, "url"), attribute(x.Attrs, "type"), attribute(x.Attrs, "length"))
	case "title":
		first(&f.Title, x.text())
	case "encoded", "content":
		f.addContent(x)
	case "description", "summary":
		first(&f.Summary, x.text())
	case "pubDate", "published", "issued", "date":
		first(&f.DatePublished, feedDate(text))
	case "updated", "modified":
		first(&f.DateModified, feedDate(text))
	case "author", "creator":
		f.addAuthor(x, text)
	case "category", "subject":
		f.addTag(attribute(x.Attrs, "term"), text)
	}
}

// first keeps what is already there.
func first(to *string, text string) {
	if *to == "" {
		*to = text
	}
}

func attribute(all []xml.Attr, name string) string {
	for _, a := range all {
		if a.Name.Local == name {
			return strings.TrimSpace(a.Value)
		}
	}
	return ""
}

// text is what an element says; of XHTML the markup with it.
func (x *element) text() string {
	if attribute(x.Attrs, "type") == "xhtml" {
		return strings.TrimSpace(x.Inner)
	}
	return strings.TrimSpace(x.Text)
}

func (f *feedItem) addContent(x element) {
	switch attribute(x.Attrs, "type") {
	case "", "html", "xhtml", "text/html":
		first(&f.ContentHTML, x.text())
	case "text", "text/plain":
		first(&f.ContentText, x.text())
	}
	if src := attribute(x.Attrs, "src"); src != "" {
		f.attach(src, attribute(x.Attrs, "type"), "")
	}
}

func (f *feedItem) addLink(x element, text string) {
	href := attribute(x.Attrs, "href")
	switch rel := attribute(x.Attrs, "rel"); {
	case href == "":
		if text != "" {
			f.URL = text // counts more than a guid
		}
	case rel == "" || rel == "alternate":
		first(&f.URL, href)
	case rel == "enclosure":
		f.attach(href, attribute(x.Attrs, "type"), attribute(x.Attrs, "length"))
	}
}

func (f *feedItem) addMedia(x element) {
	if x.XMLName.Local == "content" {
		f.attach(attribute(x.Attrs, "url"), attribute(x.Attrs, "type"), attribute(x.Attrs, "fileSize"))
	}
}

func (f *feedItem) attach(address, media, length string) {
	if address == "" {
		return
	}
	size, _ := strconv.ParseInt(length, 10, 64) // often missing or nonsense
	f.Attachments = append(f.Attachments, feedAttachment{address, media, max(size, 0)})
}

func (f *feedItem) addAuthor(x element, text string) {
	a := feedAuthor{strings.TrimSpace(x.Name), strings.TrimSpace(x.URI)}
	first(&a.Name, text)
	if a.Name != "" || a.URL != "" {
		f.Authors = append(f.Authors, a)
	}
}

func (f *feedItem) addTag(term, text string) {
	first(&term, text)
	if term != "" {
		f.Tags = append(f.Tags, term)
	}
}

// feedDate is a date of RFC 822, with its many variants, or RFC 3339, as RFC 3339; "" when it is
// none.
func feedDate(s string) string {
	if i := strings.LastIndexByte(s, ' '); i >= 0 {
		if offset, ok := zone(s[i+1:]); ok {
			s = s[:i+1] + offset
		}
	}
	if _, rest, ok := strings.Cut(s, ", "); ok {
		s = rest
	}
	for _, form := range []string{"2 Jan 2006 15:04:05 -0700", "2 Jan 2006 15:04:05 MST", "2 Jan 2006 15:04 -0700", "2 Jan 06 15:04:05 -0700", "2 January 2006 15:04:05 -0700",
		"2 Jan 2006 15:04:05", "2 Jan 2006", time.RFC3339, "2006-01-02T15:04:05-0700", "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02 15:04:05", time.DateOnly} {
		if t, err := time.Parse(form, s); err == nil {
			return t.Format(time.RFC3339)
		}
	}
	return ""
}

// zone is the offset of the zones RFC 822 names.
func zone(name string) (string, bool) {
	switch name {
	case "GMT", "UT", "UTC", "Z":
		return "+0000", true
	case "EDT":
		return "-0400", true
	case "EST", "CDT":
		return "-0500", true
	case "CST", "MDT":
		return "-0600", true
	case "MST", "PDT":
		return "-0700", true
	case "PST":
		return "-0800", true
	}
	return "", false
}
