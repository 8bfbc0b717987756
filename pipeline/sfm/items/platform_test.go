package items

import (
	"strings"
	"testing"
)

func TestTwitter2(t *testing.T) {
	page := `{"data":[{"id":"1","text":"hi @b","author_id":"10","created_at":"2023-03-03T16:01:42.000Z","in_reply_to_user_id":"11","attachments":{"media_keys":["3_1"],"poll_ids":["5"]},
"geo":{"place_id":"p"},"entities":{"mentions":[{"start":3,"end":5,"username":"b"}]},"referenced_tweets":[{"type":"quoted","id":"2"},{"type":"replied_to","id":"404"}]}],
"includes":{"users":[{"id":"10","username":"a","name":"A"},{"id":"11","username":"b"}],"media":[{"media_key":"3_1","url":"https://p.example/1.jpg"}],"polls":[{"id":"5","options":[]}],
"places":[{"id":"p","full_name":"Here"}],"tweets":[{"id":"2","text":"old","author_id":"11"}]},"meta":{"result_count":1}}`
	page = strings.ReplaceAll(page, "\n", "")
	m := newFile(t).json("https://api.twitter.com/2/tweets/search/recent?query=a", page).
		json("https://api.twitter.com/2/users/by/username/a", `{"data":{"id":"10","username":"a"}}`).
		json("https://api.twitter.com/2/users/10/tweets", `{"meta":{"result_count":0}}`).
		json("https://api.x.com/2/tweets/search/stream", "{\"data\":{\"id\":\"9\",\"text\":\"s\",\"author_id\":\"1\"},\"matching_rules\":[{\"id\":\"r\",\"tag\":\"t\"}]}\r\n\r\n{\"errors\":[{}]}\r\n")
	found := m.finds(reader(t, "twitter_search_2"), "twitter_status 1 10 2023-03-03T16:01:42Z", "twitter_status 9 1 0001-01-01T00:00:00Z")
	want := `{"id":"1","text":"hi @b","author_id":"10","created_at":"2023-03-03T16:01:42.000Z","in_reply_to_user_id":"11","attachments":{"media_keys":["3_1"],"poll_ids":["5"],` +
		`"media":[{"media_key":"3_1","url":"https://p.example/1.jpg"}],"poll":{"id":"5","options":[]}},"geo":{"place_id":"p","id":"p","full_name":"Here"},` +
		`"entities":{"mentions":[{"start":3,"end":5,"username":"b","id":"11"}]},"referenced_tweets":[{"type":"quoted","id":"2","text":"old","author_id":"11","author":{"id":"11","username":"b"}},` +
		`{"type":"replied_to","id":"404"}],"author":{"id":"10","username":"a","name":"A"},"in_reply_to_user":{"id":"11","username":"b"}}`
	if string(found[0].Raw) != want {
		t.Errorf("flattened is\n%s\nnot\n%s", found[0].Raw, want)
	}
	if !strings.HasSuffix(string(found[1].Raw), `,"matching_rules":[{"id":"r","tag":"t"}]}`) {
		t.Errorf("raw is %s", found[1].Raw)
	}
}

// What is referred to a million times is not put in a million times.
func TestFlatteningIsBounded(t *testing.T) {
	mentions := strings.Repeat(`{"username":"b"},`, 10_000)
	page := `{"data":[{"id":"1","text":"t","entities":{"mentions":[` + strings.TrimSuffix(mentions, ",") + `]}}],"includes":{"users":[{"id":"2","username":"b","description":"` + strings.Repeat("x", 10_000) + `"}]}}`
	found, _ := newFile(t).json("https://api.twitter.com/2/tweets/search/recent", page).items(Any())
	if len(found) != 1 || len(found[0].Raw) > len(page)+2*maxGrowth {
		t.Errorf("%d items, the first of %d bytes", len(found), len(found[0].Raw))
	}
}

func TestWeibo(t *testing.T) {
	m := newFile(t).json("https://api.weibo.com/2/statuses/friends_timeline.json", `{"statuses":[{"created_at":"Tue May 31 17:46:55 +0800 2011","id":11488058246,"mid":"11488058246","text":"\u6c42","user":{"id":1404376560,"idstr":"1404376560"}}],"total_number":1}`).
		json("https://api.weibo.com/2/search/topics.json", `{"error":"expired_token","error_code":21327}`)
	m.finds(reader(t, "weibo_timeline"), "weibo_status 11488058246 1404376560 2011-05-31T09:46:55Z")
}

func TestTumblr(t *testing.T) {
	m := newFile(t).json("https://api.tumblr.com/v2/blog/a.tumblr.com/posts?limit=50", `{"meta":{"status":200},"response":{"blog":{"name":"a"},"posts":[{"blog_name":"a","id":3507845453,"date":"2011-02-25 20:27:00 GMT","type":"text","body":"x"}],"total_posts":1}}`).
		json("https://api.tumblr.com/v2/blog/a.tumblr.com/info", `{"response":{"posts":[{"id":1,"blog_name":"a"}]}}`)
	m.finds(reader(t, "tumblr_blog_posts"), "tumblr_posts 3507845453 a 2011-02-25T20:27:00Z")
}

const toot = `{"id":"109","created_at":"2022-11-05T10:00:00.000Z","uri":"https://m.example/s/109","account":{"id":"7","acct":"joe"},"content":"<p>hi <a href=\"https://a.example/\">a</a></p>",` +
	`"media_attachments":[{"id":"1","type":"image","url":"https://f.example/o.png","remote_url":null}],"card":{"url":"https://c.example/","image":"https://c.example/i.png"}}`

func TestMastodon(t *testing.T) {
	m := newFile(t).json("https://m.example/api/v1/accounts/7/statuses?limit=40", `[`+toot+`]`).json("https://n.example/api/v1/timelines/tag/a", `[`+toot+`]`).
		json("https://m.example/api/v1/accounts/lookup?acct=joe", `{"id":"7"}`)
	m.finds(reader(t, "mastodon_timeline"), "mastodon_status 109 7 2022-11-05T10:00:00Z m.example", "mastodon_status 109 7 2022-11-05T10:00:00Z n.example")
}

// A stream is recorded in pieces, and a piece may begin behind the name of its first event.
func TestMastodonStream(t *testing.T) {
	uri := "https://m.example/api/v1/streaming/public"
	want := "mastodon_status 109 7 2022-11-05T10:00:00Z m.example"
	m := newFile(t).answer(uri, "text/event-stream", ":)\n\nevent: update\ndata: "+toot+"\n\nevent: delete\ndata: 109\n\n:thump\nevent: status.update\ndata: "+toot+"\n\nevent: notification\ndata: "+toot+"\n\n").
		resource(uri, "text/event-stream", "data: "+toot+"\n\n")
	m.finds(reader(t, "mastodon_stream"), want, want, want)
	_, damage := newFile(t).answer(uri, "text/event-stream", "event: update\ndata: {\"id\n\n").items(Any())
	if len(damage) != 1 || damage[0] != "2: it cannot be read as JSON: it is cut off" {
		t.Errorf("damage is %q", damage)
	}
}

const bsky = `{"uri":"at://did:plc:a/app.bsky.feed.post/3k","cid":"b","author":{"did":"did:plc:a","handle":"a.example"},"record":{"$type":"app.bsky.feed.post","text":"hi","createdAt":"2023-07-01T10:00:00.000Z",` +
	`"facets":[{"features":[{"$type":"app.bsky.richtext.facet#link","uri":"https://a.example/x"}]}]},"embed":{"$type":"app.bsky.embed.images#view","images":[{"thumb":"https://cdn.example/t","fullsize":"https://cdn.example/f"}]},"indexedAt":"2023-07-01T10:00:01.000Z"}`

func TestBluesky(t *testing.T) {
	m := newFile(t).json("https://public.api.bsky.app/xrpc/app.bsky.feed.getAuthorFeed?actor=a", `{"cursor":"c","feed":[{"post":`+bsky+`},{"post":{"uri":"at://did:plc:b/app.bsky.feed.post/3l","author":{"did":"did:plc:b"},"record":{"text":"x"},"indexedAt":"2023-07-02T00:00:00Z"},"reason":{}}]}`)
	m.finds(reader(t, "bluesky_author"), "bluesky_post at://did:plc:a/app.bsky.feed.post/3k did:plc:a 2023-07-01T10:00:00Z", "bluesky_post at://did:plc:b/app.bsky.feed.post/3l did:plc:b 2023-07-02T00:00:00Z")
}

func TestJetstream(t *testing.T) {
	event := func(op, collection, record string) string {
		return `{"did":"did:plc:a","time_us":1725911162329308,"kind":"commit","commit":{"rev":"3l","operation":"` + op + `","collection":"` + collection + `","rkey":"3k"` + record + `,"cid":"b"}}` + "\n"
	}
	m := newFile(t).resource("wss://jetstream1.us-east.bsky.network/subscribe?wantedCollections=app.bsky.feed.post", "application/x-ndjson",
		event("create", "app.bsky.feed.post", `,"record":{"text":"hi","createdAt":"2024-09-09T19:46:02.102Z"}`)+event("create", "app.bsky.feed.post", `,"record":{"text":"hi"}`)+
			event("delete", "app.bsky.feed.post", "")+event("create", "app.bsky.feed.like", `,"record":{}`)+`{"did":"did:plc:a","time_us":1,"kind":"identity"}`)
	m.finds(reader(t, "bluesky_jetstream"), "bluesky_post at://did:plc:a/app.bsky.feed.post/3k did:plc:a 2024-09-09T19:46:02Z", "bluesky_post at://did:plc:a/app.bsky.feed.post/3k did:plc:a 2024-09-09T19:46:02Z")
}

const rss = `<?xml version="1.0" encoding="ISO-8859-1"?>
<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:media="http://search.yahoo.com/mrss/" xmlns:atom="http://www.w3.org/2005/Atom"><channel>
<title>c</title><atom:link href="http://h.example/feed" rel="self"/><item><title>Caf` + "\xe9" + ` &amp; &nbsp;more</title><media:title>no</media:title><link>http://h.example/1</link><guid isPermaLink="false">g1</guid>
<pubDate>Tue, 10 Jun 2003 04:00:00 EST</pubDate><dc:creator>joe</dc:creator><category>x</category><description>&lt;p&gt;short</description><content:encoded><![CDATA[<p>long <a href="http://l.example/">l</a>]]></content:encoded>
<enclosure url="http://h.example/a.mp3" type="audio/mpeg" length="12"/><media:content url="http://h.example/v.mp4"/></item>
<item><description>only this</description></item><item><link>http://h.example/2</link></item></channel></rss>`

func TestRSS(t *testing.T) {
	uri := "http://h.example/feed"
	m := newFile(t).answer(uri, "application/rss+xml", rss)
	found := m.finds(Any(), "feed_item g1 "+uri+" 2003-06-10T09:00:00Z "+uri,
		"feed_item urn:sha256:ff57089f0863bde9a5a2d4120500b7c02fd898bcd3349ac6f9f6882a7baf4a5e "+uri+" 0001-01-01T00:00:00Z "+uri, "feed_item http://h.example/2 "+uri+" 0001-01-01T00:00:00Z "+uri)
	want := `{"id":"g1","url":"http://h.example/1","title":"Café &  more","content_html":"<p>long <a href=\"http://l.example/\">l</a>","summary":"<p>short","date_published":"2003-06-10T04:00:00-05:00",` +
		`"authors":[{"name":"joe"}],"tags":["x"],"attachments":[{"url":"http://h.example/a.mp3","mime_type":"audio/mpeg","size_in_bytes":12},{"url":"http://h.example/v.mp4"}]}`
	if got := strings.ReplaceAll(string(found[0].Raw), "\u00a0", " "); got != want {
		t.Errorf("item is\n%s\nnot\n%s", got, want)
	}
}

func TestAtomAndRSS1(t *testing.T) {
	uri := "http://h.example/feed"
	atom := `<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title><entry><id>tag:1</id><title type="html">T</title><link rel="alternate" href="http://h.example/1"/><link rel="enclosure" href="http://h.example/e" type="audio/ogg" length="x"/>` +
		`<published>2003-12-13T08:29:29-04:00</published><updated>2003-12-13T18:30:02Z</updated><author><name>Joe</name><uri>http://joe.example/</uri></author><category term="k"/><content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><b>x</b></div></content></entry></feed>`
	rdf := `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel rdf:about="x"><title>t</title></channel><item rdf:about="http://h.example/9"><title>R</title><dc:date>2004-01-02</dc:date></item></rdf:RDF>`
	m := newFile(t).answer(uri, "text/xml", atom).answer(uri, "text/xml", rdf)
	found := m.finds(reader(t, "feed"), "feed_item tag:1 "+uri+" 2003-12-13T12:29:29Z "+uri, "feed_item http://h.example/9 "+uri+" 2004-01-02T00:00:00Z "+uri)
	for _, want := range []string{`"authors":[{"name":"Joe","url":"http://joe.example/"}]`, `"tags":["k"]`, `"attachments":[{"url":"http://h.example/e","mime_type":"audio/ogg"}]`, `<b>x</b></div>"`} {
		if !strings.Contains(string(found[0].Raw), want) {
			t.Errorf("%s is not in %s", want, found[0].Raw)
		}
	}
}

func TestJSONFeed(t *testing.T) {
	uri := "http://h.example/feed.json"
	m := newFile(t).answer(uri, "application/feed+json", "{\n \"version\":\"https://jsonfeed.org/version/1.1\",\n \"items\":[{\"id\":1,\"content_text\":\"a\",\"date_published\":\"2020-01-02T03:04:05Z\"},\n {\"url\":\"http://h.example/2\"}]}")
	m.finds(Any(), "feed_item 1 "+uri+" 2020-01-02T03:04:05Z "+uri, "feed_item http://h.example/2 "+uri+" 0001-01-01T00:00:00Z "+uri)
}

func TestNoFeed(t *testing.T) {
	uri := "http://h.example/feed"
	for body, want := range map[string]string{"<html><p>x": `0: it is a document of "html", and no feed`, rss[:len(rss)-100]: "0: XML syntax error", "": "",
		"\xff\xfe<\x00r\x00s\x00s\x00/\x00>\x00": ""} {
		_, damage := newFile(t).answer(uri, "text/html", body).items(reader(t, "feed"))
		if got := strings.Join(damage, "|"); !strings.HasPrefix(got, want) || (got == "") != (want == "") {
			t.Errorf("%.20q: %s", body, got)
		}
	}
	if found, damage := newFile(t).answer(uri, "text/html", "<html>").items(Any()); len(found)+len(damage) > 0 {
		t.Errorf("a page is %v, %v", found, damage)
	}
}
