package items

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestURLs(t *testing.T) {
	sizes := strings.TrimSuffix(strings.TrimPrefix(sizes, `{"sizes":`), `,"stat":"ok"}`)
	tweet := `{"user":{"profile_image_url":"http://u.example/p"},"entities":{"urls":[{"expanded_url":"http://cut.example/"}]},"extended_tweet":{"entities":{"urls":[{"expanded_url":"http://a.example/"},{"expanded_url":"https://twitter.com/b/status/1"}],` +
		`"media":[{"media_url":"http://m.example/1.jpg"}]},"extended_entities":{"media":[{"media_url":"http://m.example/1.jpg"},{"media_url":"http://m.example/2.jpg"}]}},"retweeted_status":{"entities":{"urls":[{"expanded_url":"http://r.example/"}]}},"quoted_status":{"entities":{"urls":[{"expanded_url":"http://q.example/"}]}}}`
	tweet2 := `{"entities":{"urls":[{"expanded_url":"http://a.example/"}]},"attachments":{"media":[{"url":"https://m.example/1"}]},"referenced_tweets":[{"entities":{"urls":[{"expanded_url":"http://r.example/"}]}}]}`
	tumblr := `{"photos":[{"original_size":{"url":"https://p.example/o.jpg"}}],"body":"<a href='http://l.example/?a=1&amp;b=2'>x</a><img src=https://i.example/i.png><a href='/relative'>","url":null}`
	weibo := `{"text":"看http://t.cn/AbC1看 https://t.cn/x","pic_urls":[{"thumbnail_pic":"http://w.example/thumbnail/1.jpg"}],"retweeted_status":{"text":"http://t.cn/y"}}`
	for _, c := range []struct {
		kind, raw string
		o         URLOptions
		want      string
	}{
		{TwitterStatus, tweet, URLOptions{}, "http://a.example/ http://m.example/1.jpg http://m.example/2.jpg http://r.example/"},
		{TwitterStatus, tweet, URLOptions{NoMedia: true, NoLinks: true, UserImages: true}, "http://u.example/p"},
		{TwitterStatus, tweet2, URLOptions{}, "http://a.example/ https://m.example/1 http://r.example/"},
		{FlickrSizes, sizes, URLOptions{}, "https://l.example/l.jpg https://l.example/o.jpg"},
		{FlickrSizes, sizes, URLOptions{Sizes: []string{"Square"}}, "https://l.example/s.jpg"},
		{TumblrPosts, tumblr, URLOptions{}, "https://p.example/o.jpg http://l.example/?a=1&b=2 https://i.example/i.png"},
		{TumblrPosts, tumblr, URLOptions{NoLinks: true}, "https://p.example/o.jpg https://i.example/i.png"},
		{WeiboStatus, weibo, URLOptions{}, "http://w.example/thumbnail/1.jpg http://w.example/large/1.jpg http://t.cn/AbC1 https://t.cn/x http://t.cn/y"},
		{MastodonStatus, toot, URLOptions{}, "https://f.example/o.png https://c.example/ https://c.example/i.png https://a.example/"},
		{BlueskyPost, bsky, URLOptions{}, "https://a.example/x https://cdn.example/f"},
		{FeedItem, `{"id":"1","url":"http://h.example/1","attachments":[{"url":"http://h.example/a.mp3"}]}`, URLOptions{}, "http://h.example/1 http://h.example/a.mp3"},
		{FeedItem, `{"url":"javascript:x","attachments":[{"url":"file:///etc/passwd"},{"url":"http://a b/"},3]}`, URLOptions{}, ""},
		{FlickrPhoto, `{}`, URLOptions{}, ""},
	} {
		if got := strings.Join((Item{Kind: c.kind, Raw: json.RawMessage(c.raw)}).URLs(c.o), " "); got != c.want {
			t.Errorf("%s %+v: %s\nnot %s", c.kind, c.o, got, c.want)
		}
	}
}

func TestURLOptionsOfAHarvest(t *testing.T) {
	var options map[string]any
	if err := json.Unmarshal([]byte(`{"sizes":["Large"],"media":false,"web_resources":true,"user_images":true}`), &options); err != nil {
		t.Fatal(err)
	}
	if got, want := URLOptionsOf(options), (URLOptions{Sizes: []string{"Large"}, NoMedia: true, UserImages: true}); !reflect.DeepEqual(got, want) {
		t.Errorf("options are %+v", got)
	}
	if got := URLOptionsOf(nil); !reflect.DeepEqual(got, URLOptions{}) {
		t.Errorf("no options are %+v", got)
	}
}

func TestSeen(t *testing.T) {
	var s Seen
	a := Item{Kind: MastodonStatus, ID: "1", Scope: "m.example"}.Key()
	b := Item{Kind: MastodonStatus, ID: "1", Scope: "n.example"}.Key()
	if !s.Fresh(a) || !s.Fresh(b) || s.Fresh(a) || s.Fresh(b) {
		t.Error("the same id of two hosts is not told apart")
	}
}
