package items

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"srpump/pipeline/warc"
)

// A made file is a WARC file under construction.
type made struct {
	t   *testing.T
	buf bytes.Buffer
	w   *warc.Writer
}

func newFile(t *testing.T) *made {
	m := &made{t: t}
	var err error
	if m.w, err = warc.NewWriter(&m.buf, warc.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *made) add(r *warc.Record) *made {
	m.t.Helper()
	if _, err := m.w.Write(r); err != nil {
		m.t.Fatal(err)
	}
	return m
}

// info says of which harvest the file is.
func (m *made) info(harvest, base string) *made {
	return m.add(warc.NewInfo(warc.V10, "a.warc.gz", day, warc.Fields{{Name: "software", Value: "x"}, {Name: "sfm-type", Value: harvest}, {Name: "sfm-api-base", Value: base}}))
}

var day = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// answer is a response of that content type.
func (m *made) answer(uri, media, body string) *made {
	return m.add(warc.New(warc.V10, warc.Response, uri, day).With("HTTP/1.1 200 OK\r\nContent-Type: " + media + "\r\n\r\n" + body))
}

// json is a response of JSON.
func (m *made) json(uri, body string) *made {
	return m.answer(uri, "application/json; charset=utf-8", body)
}

// resource is a record that was no answer.
func (m *made) resource(uri, media, body string) *made {
	r := warc.New(warc.V10, warc.Resource, uri, day).With(body)
	r.ContentType = media
	return m.add(r)
}

// items reads the file, and tells each item in a line, and damage behind them.
func (m *made) items(r *Reader) (found []Item, damage []string) {
	m.t.Helper()
	if err := m.w.Close(); err != nil {
		m.t.Fatal(err)
	}
	r.Report = func(d Damage) { damage = append(damage, fmt.Sprintf("%d: %s", d.Line, d.Reason)) }
	in := warc.NewReader(bytes.NewReader(m.buf.Bytes()), warc.ReadOptions{Report: func(f *warc.Fault) { damage = append(damage, f.String()) }})
	for {
		rec, err := in.Next()
		if err == io.EOF {
			return found, damage
		}
		if err != nil {
			m.t.Fatal(err)
		}
		err = r.Items(rec, func(i Item) error {
			if !json.Valid(i.Raw) {
				m.t.Errorf("not JSON: %s", i.Raw)
			}
			found = append(found, i)
			return nil
		})
		if err != nil {
			m.t.Fatal(err)
		}
	}
}

func told(i Item) string {
	return fmt.Sprintf("%s %s %s %s %s", i.Kind, i.ID, i.Owner, i.Date.Format(time.RFC3339), i.Scope)
}

// finds compares the items of a file with the lines that are expected.
func (m *made) finds(r *Reader, want ...string) []Item {
	m.t.Helper()
	found, damage := m.items(r)
	var got []string
	for _, i := range found {
		got = append(got, strings.TrimSpace(told(i)))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		m.t.Errorf("found\n%s\nnot\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, d := range damage {
		m.t.Errorf("damaged: %s", d)
	}
	return found
}

func reader(t *testing.T, harvest string) *Reader {
	t.Helper()
	r, ok := For(harvest)
	if !ok {
		t.Fatalf("no reader for %s", harvest)
	}
	return r
}

const (
	flickrInfo  = "https://api.flickr.com/services/rest/?method=flickr.photos.getInfo&photo_id=3&format=json"
	flickrSizes = "https://api.flickr.com/services/rest/?method=flickr.photos.getSizes&photo_id=3&format=json"
	photo       = `{"photo":{"id":"3","owner":{"nsid":"9@N01","username":"joe"},"title":{"_content":"a\u00e9"},"dates":{"posted":"1438082256","taken":"2015-07-28 11:17:36"}},"stat":"ok"}`
	sizes       = `{"sizes":{"canblog":0,"size":[{"label":"Square","source":"https://l.example/s.jpg"},{"label":"Large","source":"https://l.example/l.jpg"},{"label":"Original","source":"https://l.example/o.jpg"}]},"stat":"ok"}`
)

func TestFlickr(t *testing.T) {
	m := newFile(t).json(flickrInfo, photo).json(flickrSizes, sizes).json(flickrInfo, `{"stat":"fail","code":1,"message":"Photo not found"}`).
		json("https://api.flickr.com/services/rest/?method=flickr.people.getInfo", `{"person":{"id":"9@N01"},"stat":"ok"}`)
	found := m.finds(reader(t, "flickr_user"), "flickr_photo 3 9@N01 2015-07-28T11:17:36Z", "flickr_sizes 3  0001-01-01T00:00:00Z")
	if !strings.HasPrefix(string(found[0].Raw), `{"id":"3","owner"`) || !strings.HasPrefix(string(found[1].Raw), `{"canblog"`) {
		t.Errorf("raw are %s and %s", found[0].Raw, found[1].Raw)
	}
}

const tweet = `{"created_at":"Wed Oct 10 20:19:24 +0000 2018","id":1050118621198921728,"id_str":"1050118621198921728","text":"a \"b\"","user":{"id":6253282,"id_str":"6253282","screen_name":"a"},"retweeted_status":{"id_str":"7","user":{"id_str":"8"}}}`
const tweetTold = "twitter_status 1050118621198921728 6253282 2018-10-10T20:19:24Z"

func TestTwitter(t *testing.T) {
	m := newFile(t).json("https://api.twitter.com/1.1/search/tweets.json?q=a", `{"statuses":[`+tweet+`,`+tweet+`],"search_metadata":{}}`).
		json("https://api.twitter.com/1.1/statuses/user_timeline.json?user_id=1", `[`+tweet+`]`).
		json("https://api.twitter.com/1.1/statuses/user_timeline.json", `{"errors":[{"code":34,"message":"x"}]}`).
		json("https://stream.twitter.com/1.1/statuses/filter.json", "\r\n"+tweet+"\r\n\r\n{\"delete\":{\"status\":{\"id_str\":\"1\"}}}\r\n"+tweet+"\r\n").
		json("https://api.twitter.com/1.1/users/show.json", tweet)
	m.finds(reader(t, "twitter_search"), tweetTold, tweetTold, tweetTold, tweetTold, tweetTold)
}

// What a file says of its harvest counts more than where it was.
func TestAnotherBase(t *testing.T) {
	m := newFile(t).info("flickr_user", "http://127.0.0.1:8080/rest").json("http://127.0.0.1:8080/rest?method=flickr.photos.getInfo", photo).
		json("http://127.0.0.1:8081/rest?method=flickr.photos.getInfo", photo)
	m.finds(Any(), "flickr_photo 3 9@N01 2015-07-28T11:17:36Z")
	m = newFile(t).json("http://127.0.0.1:8080/rest?method=flickr.photos.getInfo", photo)
	m.finds(Any())
}

func TestDamagedBodies(t *testing.T) {
	uri := "https://api.twitter.com/1.1/statuses/user_timeline.json"
	for _, c := range []struct {
		body  string
		items int
		want  string
	}{
		{"[\n " + tweet + ",\n" + tweet + "\n]\n", 2, ""},
		{`[` + tweet + `,` + tweet[:50], 1, "1: it cannot be read as JSON: it is cut off"},
		{"[\n" + tweet + ",\n\n" + tweet[:50], 1, "1: it cannot be read as JSON: it is cut off"},
		{"<!DOCTYPE html><p>no", 0, "0: it is a page of HTML or XML, and no JSON"},
		{tweet + "\n{bad\n" + tweet, 2, `2: it cannot be read as JSON: 'b' at byte 2, where a string is expected`},
		{"{bad\n" + tweet + "\n" + tweet, 2, `1: it cannot be read as JSON: 'b' at byte 2, where a string is expected`},
		{"", 0, ""}, {"\n\n", 0, ""},
		{strings.Repeat("[", 5000), 0, "1: it cannot be read as JSON: it is nested too deep"},
	} {
		found, damage := newFile(t).json(uri, c.body).json(uri, tweet).items(reader(t, "twitter_search"))
		if len(found) != c.items+1 || strings.Join(damage, "|") != c.want {
			t.Errorf("%.60q: %d items, %q", c.body, len(found), damage)
		}
	}
}
