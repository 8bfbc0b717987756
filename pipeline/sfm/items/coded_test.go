package items

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"srpump/pipeline/warc"
)

func gzipped(t *testing.T, in io.Reader) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.Copy(z, in); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func coded(uri, headers, body string) *warc.Record {
	return warc.New(warc.V10, warc.Response, uri, day).With("HTTP/1.1 200 OK\r\n" + headers + "\r\n" + body)
}

// Blocks are what went over the wire: chunked, and compressed.
func TestCodedBodies(t *testing.T) {
	uri := "https://api.twitter.com/1.1/statuses/user_timeline.json"
	packed := gzipped(t, strings.NewReader("["+tweet+"]"))
	chunks := fmt.Sprintf("5\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n", packed[:5], len(packed)-5, packed[5:])
	newFile(t).add(coded(uri, "Content-Encoding: gzip\r\n", packed)).add(coded(uri, "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", chunks)).
		finds(Any(), tweetTold, tweetTold)
	found, damage := newFile(t).add(coded(uri, "Content-Encoding: gzip\r\n", packed[:len(packed)-20])).json(uri, "["+tweet+"]").items(Any())
	if len(found) != 1 || len(damage) == 0 {
		t.Errorf("%d items, damage %q", len(found), damage)
	}
}

// A zeros reader yields so many bytes of one kind.
type zeros struct{ left int64 }

func (z *zeros) Read(p []byte) (int, error) {
	if z.left <= 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), z.left)
	for i := range p[:n] {
		p[i] = '0'
	}
	z.left -= n
	return int(n), nil
}

func TestGzipBombs(t *testing.T) {
	uri := "https://api.twitter.com/1.1/statuses/user_timeline.json"
	bomb := gzipped(t, io.MultiReader(strings.NewReader(`["`), &zeros{8 << 20}))
	r := Any()
	r.MaxDocument = 1 << 20
	found, damage := newFile(t).add(coded(uri, "Content-Encoding: gzip\r\n", bomb)).json(uri, "["+tweet+"]").items(r)
	if len(found) != 1 || strings.Join(damage, "|") != "0: it is longer than 1048576 bytes" {
		t.Errorf("%d items, damage %q", len(found), damage)
	}
}

// What is JSON for one is JSON for the other.
func FuzzCursor(f *testing.F) {
	for _, s := range []string{photo, tweet, `[1,-0.5e+3,true,false,null,"\u00e9\n"]`, `{"a":{}}`, `01`, `"\x"`, `[1,]`, `{"a":1,}`, `-`, `1.`, `1e`, "\"\x01\"", `{"a" 1}`, ``, `[]]`, `{,}`, `[,1]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c := &cursor{b: []byte(s)}
		raw := c.raw()
		if err := c.end(); (err == nil) != json.Valid([]byte(s)) && strings.Count(s, "[")+strings.Count(s, "{") < maxDepth {
			t.Fatalf("%q: %v", s, err)
		} else if err == nil && string(raw) != strings.Trim(s, " \t\r\n") {
			t.Fatalf("%q became %q", s, raw)
		}
	})
}

// No record, whatever is in it, makes a reader fail.
func FuzzItems(f *testing.F) {
	for n, s := range []string{photo, tweet, rss, "event: update\ndata: " + toot, bsky, "[\n" + tweet + "\n]"} {
		f.Add(n, s)
	}
	f.Fuzz(func(t *testing.T, n int, body string) {
		types := Types()
		kind := types[max(n, 0)%len(types)]
		r, _ := For(kind)
		rec := warc.New(warc.V10, warc.Resource, "http://h.example/2/tweets/search/tweets.json/api/v1/timelines/blog/posts/app.bsky.feed.getAuthorFeed?method=flickr.photos.getInfo", day).With(body)
		for i := range r.formats {
			r.formats[i].hosts = nil
		}
		err := r.Items(rec, func(i Item) error {
			if i.URLs(URLOptions{UserImages: true}); i.ID == "" || !json.Valid(i.Raw) {
				t.Fatalf("%q has item %+v", body, i)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// A stream has no end of its own: what is cut off there is no damage, what is before it is.
func TestCutStream(t *testing.T) {
	text := "data: {broken\n\nevent: update\ndata: " + toot + "\n\nevent: update\ndata: {\"id"
	stream := func() *warc.Record {
		return coded("https://m.example/api/v1/streaming/public", "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n", fmt.Sprintf("%x\r\n%s\r\n5\r\nxx", len(text), text))
	}
	ended := stream()
	ended.Fields.Add(warc.FieldTruncated, "time")
	for _, c := range []struct {
		rec     *warc.Record
		damages int
	}{{ended, 1}, {stream(), 3}} {
		found, damage := newFile(t).add(c.rec).items(reader(t, "mastodon_stream"))
		if len(found) != 1 || len(damage) != c.damages {
			t.Errorf("%d items, damage %q", len(found), damage)
		}
	}
}
