package export

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"srpump/pipeline/sfm/items"
)

// row is what a table makes of an item: the columns that are not empty.
func row(t *testing.T, tb *table, i items.Item) string {
	t.Helper()
	w := (&look{format: formatFor("json"), table: tb}).rows()
	if err := w.add(&i); err != nil {
		t.Fatal(err)
	}
	if !json.Valid(w.text.Bytes()) {
		t.Errorf("no JSON: %s", w.text.Bytes())
	}
	var all []string
	for _, part := range strings.Split(strings.Trim(w.text.String(), "{}\n"), `,"`) {
		if !strings.HasSuffix(part, ":null") {
			all = append(all, strings.Trim(strings.Replace(part, `":`, "=", 1), `"`))
		}
	}
	return strings.Join(all, "|")
}

// What each platform tells is in its columns.
func TestColumns(t *testing.T) {
	for _, test := range []struct{ harvest, raw, want string }{
		{"flickr_user", `{"title":{"_content":"a \"b\" c"},"owner":{"nsid":"9@N01","username":"u"},"license":"4","dates":{"taken":"2015-01-02 03:04:05"},"media":"photo","urls":{"url":[{"type":"x"},{"type":"photopage","_content":"https://f/1"}]}}`,
			`photo_id="i|date_posted="2001-09-09T01:46:40Z|date_taken="2015-01-02 03:04:05|license="4|owner_nsid="9@N01|owner_username="u|title="a \"b\" c|media="photo|photopage="https://f/1`},
		{"tumblr_blog_posts", `{"blog_name":"b","type":"text","body":"<p>x</p>","tags":["a","b c"],"post_url":"https://t/1"}`,
			`created_at="2001-09-09T01:46:40Z|tumblr_id="i|blog_name="b|post_type="text|post_text="<p>x</p>|tags="a, b c|tumblr_url="https://t/1`},
		{"weibo_search", `{"user":{"screen_name":"s","followers_count":7},"text":"#t# http://a.cn/b，x https://c #u#","retweeted_status":{"text":"r http://d"}}`,
			`created_at="2001-09-09T01:46:40Z|weibo_id="i|screen_name="s|followers_count=7|topics="t, u|weibo_url="https://m.weibo.cn/o/i|text="#t# http://a.cn/b，x https://c #u#|url1="http://a.cn/b|url2="https://c|retweeted_text="r http://d|retweeted_url1="http://d`},
		{"twitter_search", `{"id_str":"i","user":{"id_str":"5","screen_name":"s","created_at":"Wed Oct 10 20:19:24 +0000 2018","verified":false},"text":"RT @x: cut…","retweeted_status":{"id_str":"2","full_text":"whole","user":{"screen_name":"x","id_str":"6"}},"entities":{"hashtags":[{"text":"h"},{"text":"j"}],"urls":[{"expanded_url":"https://u"}]}}`,
			`id="i|tweet_url="https://twitter.com/s/status/i|parsed_created_at="2001-09-09T01:46:40Z|user_screen_name="s|text="RT @x: whole|tweet_type="retweet|hashtags="h j|urls="https://u|retweet_or_quote_id="2|retweet_or_quote_screen_name="x|retweet_or_quote_user_id="6|user_id="5|user_created_at="2018-10-10T20:19:24Z|user_verified=false`},
		{"twitter_filter_stream", `{"author_id":"5","text":"t","public_metrics":{"like_count":3},"author":{"username":"a"},"referenced_tweets":[{"type":"quoted","id":"8","author_id":"9","author":{"username":"q"}}]}`,
			`id="i|referenced_tweets.quoted.id="8|author_id="5|quoted_user_id="9|quoted_username="q|created_at="2001-09-09T01:46:40Z|text="t|public_metrics.like_count=3|author.username="a`},
		{"mastodon_timeline", `{"content":"<p>a &amp; b<br>c</p><p>d</p>","account":{"id":"5","bot":true},"tags":[{"name":"x"}],"media_attachments":[{"url":"https://m"}]}`,
			`id="i|created_at="2001-09-09T01:46:40Z|account_id="5|account_bot=true|text="a & b\nc\nd|content_html="<p>a &amp; b<br>c</p><p>d</p>|tags="x|media="https://m`},
		{"bluesky_jetstream", `{"did":"did:plc:a","commit":{"cid":"c","record":{"text":"t","langs":["en"],"facets":[{"features":[{"tag":"x"}]},{"features":[{"uri":"https://l"}]}]}}}`,
			`uri="i|cid="c|created_at="2001-09-09T01:46:40Z|author_did="o|text="t|langs="en|hashtags="x|urls="https://l`},
		{"feed", `{"title":"t","content_html":"<b>h</b>","authors":[{"name":"n"}],"attachments":[{"url":"https://p"}]}`,
			`id="i|date_published="2001-09-09T01:46:40Z|feed_url="o|title="t|authors="n|text="h|content_html="<b>h</b>|attachments="https://p`},
	} {
		got := row(t, tableFor(test.harvest), items.Item{ID: "i", Owner: "o", Date: time.Unix(1e9, 0), Raw: json.RawMessage(test.raw)})
		if got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.harvest, got, test.want)
		}
	}
}

// An item may lack everything, or have everything in another form.
func TestOddItems(t *testing.T) {
	for _, tb := range tables() {
		for _, raw := range []string{`{}`, `[]`, `null`, `{"user":7,"owner":[],"dates":"x","title":null,"urls":{"url":{}},"tags":{},"account":"x","record":[],"commit":{"record":{"facets":[{"features":7}]}},"entities":[],"referenced_tweets":[7,{"type":[]}],"retweeted_status":[],"text":{},"authors":[[]],"attachments":7}`} {
			got := row(t, tb, items.Item{ID: "i", Raw: json.RawMessage(raw)})
			if !strings.Contains(got, `="i`) {
				t.Errorf("%s of %s: %s", tb.platform, raw, got)
			}
		}
		names := tb.names()
		slices.Sort(names)
		if len(slices.Compact(names)) != len(tb.columns) {
			t.Errorf("%s has a column twice", tb.platform)
		}
	}
	if len(slices.DeleteFunc(items.Types(), func(name string) bool { return name == "web" || tableFor(name) != nil })) > 0 {
		t.Error("a harvest type has no table")
	}
}

// No text of an item becomes a formula; numbers, and texts that are none, stay as they are.
func TestGuard(t *testing.T) {
	for text, want := range map[string]string{
		"=1+1": "'=1+1", "@SUM(A1)": "'@SUM(A1)", "+cmd|' /C calc'!A0": "'+cmd|' /C calc'!A0", "-1+1": "'-1+1", "\t=1": "'\t=1", " =1": "' =1",
		"\r\n=1": "'\r\n=1", "＝1": "'＝1", "－1+1": "'－1+1", "%0A": "'%0A", "\tx": "'\tx",
		"-1.5": "-1.5", "+49": "+49", "a=1": "a=1", "": "", " ": " ", "'=1": "'=1", "-": "'-", "-.": "'-.",
	} {
		if got := guarded(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	if got := clean("a\x00b\x1b\t\n\xff\uFFFE"); got != "a\uFFFDb\uFFFD\t\n\uFFFD\uFFFD" {
		t.Errorf("clean is %q", got)
	}
}
