package items

import (
	"net/url"
	"strings"
)

// twitter finds the addresses of a status of either version, and of the one it passes on or, if
// there is none, quotes.
func (f *finding) twitter(v any) {
	f.tweet(v)
	switch {
	case at(v, "retweeted_status") != nil:
		f.tweet(at(v, "retweeted_status"))
	case at(v, "quoted_status") != nil:
		f.tweet(at(v, "quoted_status"))
	}
	for _, ref := range list(at(v, "referenced_tweets")) {
		f.tweet(ref)
	}
}

func (f *finding) tweet(v any) {
	whole := v
	if x := at(v, "extended_tweet"); x != nil {
		whole = x
	}
	for _, member := range []string{"entities", "extended_entities"} {
		for _, u := range list(at(whole, member, "urls")) {
			if address := at(u, "expanded_url"); !isStatus(text(address)) {
				f.link(address)
			}
		}
		for _, m := range list(at(whole, member, "media")) {
			f.media(at(m, "media_url"))
		}
	}
	for _, m := range list(at(v, "attachments", "media")) {
		f.media(at(m, "url"))
		f.media(at(m, "preview_image_url"))
	}
	if f.UserImages {
		f.add(at(v, "user", "profile_image_url"))
		f.add(at(v, "user", "profile_background_image_url"))
		f.add(at(v, "user", "profile_banner_url"))
		f.add(at(v, "author", "profile_image_url"))
	}
}

// isStatus tells whether an address is that of a status, which is archived as such.
func isStatus(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := strings.TrimPrefix(strings.TrimPrefix(u.Hostname(), "www."), "mobile.")
	return (host == "twitter.com" || host == "x.com") && strings.Contains(u.Path, "/status")
}

func (f *finding) flickr(v any) {
	for _, size := range list(at(v, "size")) {
		if f.wants(text(at(size, "label"))) {
			f.media(at(size, "source"))
		}
	}
}

func (f *finding) tumblr(v any) {
	for _, photo := range list(at(v, "photos")) {
		f.media(at(photo, "original_size", "url"))
	}
	f.media(at(v, "video_url"))
	f.media(at(v, "audio_url"))
	f.link(at(v, "url")) // of a post that is a link
	for _, member := range []string{"body", "caption", "description", "text", "answer", "source"} {
		f.markup(at(v, member))
	}
}

// weibo finds pictures, which differ by size in one word of their address, and short links.
func (f *finding) weibo(v any) {
	sizes := []struct{ label, word string }{{"Thumbnail", "/thumbnail/"}, {"Medium", "/bmiddle/"}, {"Large", "/large/"}}
	for _, status := range []any{v, at(v, "retweeted_status")} {
		for _, picture := range list(at(status, "pic_urls")) {
			for _, size := range sizes {
				if f.wants(size.label) {
					f.media(strings.Replace(text(at(picture, "thumbnail_pic")), "/thumbnail/", size.word, 1))
				}
			}
		}
		f.shortLinks(text(at(status, "text")))
	}
}

// shortLinks finds those of t.cn in running text, which may be Chinese without blanks.
func (f *finding) shortLinks(s string) {
	for {
		i := strings.Index(s, "http://t.cn/")
		if j := strings.Index(s, "https://t.cn/"); j >= 0 && (i < 0 || j < i) {
			i = j
		}
		if i < 0 {
			return
		}
		s = s[i:]
		end := strings.Index(s, "t.cn/") + len("t.cn/")
		for end < len(s) && (s[end] >= '0' && s[end] <= '9' || s[end]|0x20 >= 'a' && s[end]|0x20 <= 'z') {
			end++
		}
		f.link(s[:end])
		s = s[end:]
	}
}

func (f *finding) mastodon(v any) {
	for _, status := range []any{v, at(v, "reblog")} {
		for _, m := range list(at(status, "media_attachments")) {
			f.media(at(m, "url"))
		}
		f.link(at(status, "card", "url"))
		f.media(at(status, "card", "image"))
		f.markup(at(status, "content"))
		if f.UserImages {
			f.add(at(status, "account", "avatar"))
			f.add(at(status, "account", "header"))
		}
	}
}

// bluesky finds the addresses of a post as a feed has it, or as the stream does.
func (f *finding) bluesky(v any) {
	record := at(v, "record")
	if record == nil {
		record = at(v, "commit", "record")
	}
	for _, facet := range list(at(record, "facets")) {
		for _, feature := range list(at(facet, "features")) {
			if strings.HasSuffix(text(at(feature, "$type")), "#link") {
				f.link(at(feature, "uri"))
			}
		}
	}
	for _, embed := range []any{at(record, "embed"), at(v, "embed"), at(v, "embed", "media")} {
		f.link(at(embed, "external", "uri"))
		f.media(at(embed, "external", "thumb"))
		for _, image := range list(at(embed, "images")) {
			f.media(at(image, "fullsize"))
		}
	}
	if f.UserImages {
		f.add(at(v, "author", "avatar"))
	}
}

func (f *finding) feed(v any) {
	f.link(at(v, "url"))
	f.link(at(v, "external_url"))
	f.media(at(v, "image"))
	for _, a := range list(at(v, "attachments")) {
		f.media(at(a, "url"))
	}
}
