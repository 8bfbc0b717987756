package items

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// URLOptions are which addresses of an item are asked for. The zero value asks for its media
// and for what it links to.
type URLOptions struct {
	// Sizes are the labels of the pictures of Flickr and Weibo that are wanted; nil is Thumbnail,
	// Large and Original.
	Sizes      []string
	NoMedia    bool // pictures, sounds and films
	NoLinks    bool // what the item links to
	UserImages bool // pictures of the owner, too
}

// URLOptionsOf reads the options of a harvest start message: sizes or image_sizes, media,
// web_resources and user_images.
func URLOptionsOf(options map[string]any) URLOptions {
	var o URLOptions
	for _, name := range []string{"image_sizes", "sizes"} {
		for _, size := range list(options[name]) {
			if s, ok := size.(string); ok {
				o.Sizes = append(o.Sizes, s)
			}
		}
	}
	if media, ok := options["media"].(bool); ok {
		o.NoMedia = !media
	}
	if links, ok := options["web_resources"].(bool); ok {
		o.NoLinks = !links
	}
	o.UserImages, _ = options["user_images"].(bool)
	return o
}

func (o URLOptions) wants(size string) bool {
	sizes := o.Sizes
	if sizes == nil {
		sizes = []string{"Thumbnail", "Large", "Original"}
	}
	return slices.ContainsFunc(sizes, func(s string) bool { return strings.EqualFold(s, size) })
}

// A finding is the addresses found in an item.
type finding struct {
	URLOptions
	urls []string
}

// URLs are the addresses in an item that are on the web, each once, in their order.
func (i Item) URLs(o URLOptions) []string {
	var v any
	dec := json.NewDecoder(bytes.NewReader(i.Raw))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return nil
	}
	f := &finding{URLOptions: o}
	switch i.Kind {
	case TwitterStatus:
		f.twitter(v)
	case FlickrSizes:
		f.flickr(v)
	case TumblrPosts:
		f.tumblr(v)
	case WeiboStatus:
		f.weibo(v)
	case MastodonStatus:
		f.mastodon(v)
	case BlueskyPost:
		f.bluesky(v)
	case FeedItem:
		f.feed(v)
	}
	return f.urls
}

func (f *finding) add(address any) {
	s := text(address)
	if (strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")) && !strings.ContainsAny(s, " \t\r\n\x00") && !slices.Contains(f.urls, s) {
		f.urls = append(f.urls, s)
	}
}

func (f *finding) media(address any) {
	if !f.NoMedia {
		f.add(address)
	}
}

func (f *finding) link(address any) {
	if !f.NoLinks {
		f.add(address)
	}
}

// markup finds what a piece of HTML links to and shows. The links of mentions and tags are ones
// of the platform.
func (f *finding) markup(source any) {
	z := html.NewTokenizer(strings.NewReader(text(source)))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			if class := attr(t, "class"); t.Data == "a" && !strings.Contains(class, "mention") && !strings.Contains(class, "hashtag") {
				f.link(attr(t, "href"))
			}
			if t.Data == "img" {
				f.media(attr(t, "src"))
			}
		}
	}
}

func attr(t html.Token, name string) string {
	for _, a := range t.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// at is the value at a path of members; nil when there is none.
func at(v any, path ...string) any {
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func text(v any) string {
	s, _ := v.(string)
	return s
}
