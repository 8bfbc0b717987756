package poll

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"golang.org/x/net/html"
)

// Bounds of what is kept of a page at a time, in bytes.
const (
	maxTag  = 64 << 10
	maxTail = 512
)

// Page reads a directory over HTTP, the page at at: every link to something directly in
// that directory is an entry; date and size are taken from the text behind it, as Apache (in
// lists, columns and tables), nginx, lighttpd and sr_serve(1) write them. An error is
// one of r or yield, or ErrTooMany; entries before it were yielded.
func Page(r io.Reader, at *url.URL, o Options, yield func(Entry) error) (Skipped, error) {
	p := &page{reading: reading{o: o, yield: yield}, dir: at}
	z := html.NewTokenizer(r)
	z.SetMaxBuf(maxTag)
	for {
		t := z.Next()
		if t == html.ErrorToken {
			break
		}
		if err := p.token(z, t); err != nil {
			return p.skipped, err
		}
	}
	if err := z.Err(); err != io.EOF {
		if errors.Is(err, html.ErrBufferExceeded) {
			err = fmt.Errorf("a tag or text of more than %d bytes: %w", maxTag, err)
		}
		return p.skipped, fmt.Errorf("cannot read listing: %w", err)
	}
	return p.skipped, p.flush()
}

// A page is a directory being read: the last link and the text behind it.
type page struct {
	reading
	dir    *url.URL
	open   bool // between <a> and </a>
	link   Entry
	linked bool // link holds an entry
	tail   strings.Builder
}

func (p *page) token(z *html.Tokenizer, t html.TokenType) error {
	switch t {
	case html.TextToken:
		if p.linked && !p.open && p.tail.Len() < maxTail {
			text := z.Text()
			p.tail.Write(text[:min(len(text), maxTail)])
		}
	case html.StartTagToken, html.SelfClosingTagToken:
		name, more := z.TagName()
		switch string(name) {
		case "a":
			return p.anchor(z, more)
		case "tr":
			return p.flush()
		case "td":
			if p.tail.Len() < maxTail {
				p.tail.WriteByte(' ')
			}
		}
	case html.EndTagToken:
		switch name, _ := z.TagName(); string(name) {
		case "a":
			p.open = false
		case "tr", "table", "pre", "ul", "body":
			return p.flush()
		}
	}
	return nil
}

// anchor begins a new link. Where an icon and a name link to one file, the second is taken,
// for the text is behind it.
func (p *page) anchor(z *html.Tokenizer, more bool) error {
	var href string
	var ok bool
	for more {
		var key, value []byte
		key, value, more = z.TagAttr()
		if string(key) == "href" && !ok {
			href, ok = string(value), true
		}
	}
	if !ok {
		return nil
	}
	name, dir, verdict := inDirectory(href, p.dir)
	if p.linked && verdict == inside && p.link.Name == name && strings.TrimSpace(p.tail.String()) == "" {
		p.open = true
		return nil
	}
	if err := p.flush(); err != nil {
		return err
	}
	p.open = true
	switch verdict {
	case inside:
		p.link, p.linked = Entry{Name: name, Dir: dir, Size: -1}, true
	case outside:
		p.refuse(href)
	}
	return nil
}

// flush hands on the link with what the text behind it says.
func (p *page) flush() error {
	if !p.linked {
		p.tail.Reset()
		return nil
	}
	p.linked, p.open = false, false
	tail := p.tail.String()
	p.tail.Reset()
	describe(&p.link, tail, p.o)
	return p.give(p.link)
}

// Where a link leads.
type where int

const (
	nowhere where = iota // to the page itself, its parent, another order of it
	inside               // to a name directly in the directory
	outside              // elsewhere
)

// inDirectory resolves a link of the page at dir to a name in that directory. Names
// are decoded; one with an encoded slash is none.
func inDirectory(href string, dir *url.URL) (name string, isDir bool, w where) {
	u, err := url.Parse(strings.TrimSpace(href))
	switch {
	case err != nil:
		return "", false, outside
	case u.Scheme != "" && u.Scheme != dir.Scheme, u.Host != "" && !strings.EqualFold(u.Host, dir.Host), u.Opaque != "":
		return "", false, outside
	case u.RawQuery != "" || u.ForceQuery || u.EscapedPath() == "":
		return "", false, nowhere
	}
	path := u.EscapedPath()
	if strings.HasPrefix(path, "/") {
		if path, w = below(path, dir.EscapedPath()); w != inside {
			return "", false, w
		}
	}
	for strings.HasPrefix(path, "./") {
		path = path[2:]
	}
	path, isDir = strings.CutSuffix(path, "/")
	if path == "" || path == "." || path == ".." {
		return "", false, nowhere
	}
	if name, err = url.PathUnescape(path); err != nil || strings.Contains(path, "/") {
		return "", false, outside
	}
	return name, isDir, inside
}

// below takes the directory off an absolute path, however either is escaped.
func below(path, dir string) (string, where) {
	dir = strings.TrimRight(dir, "/") + "/"
	if rest, ok := strings.CutPrefix(path, dir); ok {
		return rest, inside
	}
	decoded, err := url.PathUnescape(dir)
	i := strings.LastIndexByte(strings.TrimSuffix(path, "/"), '/') + 1
	parent, err2 := url.PathUnescape(path[:i])
	switch {
	case err != nil || err2 != nil:
		return "", outside
	case parent == decoded:
		return path[i:], inside
	case strings.HasPrefix(decoded, strings.TrimSuffix(parent+path[i:], "/")+"/"):
		return "", nowhere // the parent, or one above
	}
	return "", outside
}
