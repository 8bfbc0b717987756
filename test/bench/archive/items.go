package main

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"srpump/pipeline/warc"
)

// perPage is how many statuses an answer has.
const perPage = 40

// timelines writes a WARC file of so many statuses of a Mastodon timeline, in answers of some, each
// with its request, as a harvester records them. Files of other names have other statuses.
func timelines(count, name string) error {
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	out, err := os.Create(name)
	if err != nil {
		return err
	}
	defer out.Close()
	w, err := warc.NewWriter(out, warc.WriteOptions{})
	if err != nil {
		return err
	}
	seed := fnv.New64()
	_, _ = seed.Write([]byte(filepath.Base(name))) // it cannot fail
	random := rand.New(rand.NewPCG(7, seed.Sum64()))
	words := vocabulary(random)
	for i := 0; i < n && err == nil; i += perPage {
		err = exchange(w, random, words, i, min(perPage, n-i))
	}
	return errors.Join(err, w.Close(), out.Close())
}

// exchange writes one answer and its request.
func exchange(w *warc.Writer, random *rand.Rand, words []string, first, n int) error {
	uri := fmt.Sprintf("https://mastodon.example/api/v1/timelines/tag/archives?limit=%d&max_id=%d", perPage, first)
	var b strings.Builder
	b.WriteString("HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\n\r\n[")
	for i := range n {
		if i > 0 {
			b.WriteString(",")
		}
		status(&b, random, words, first+i)
	}
	b.WriteString("]")
	answer := warc.New(warc.V10, warc.Response, uri, time.Now())
	request := warc.New(warc.V10, warc.Request, uri, time.Now())
	request.Fields.Add(warc.FieldConcurrentTo, answer.ID())
	_, err := w.Add(answer.With(b.String()))
	if err == nil {
		_, err = w.Add(request.With("GET /api/v1/timelines/tag/archives HTTP/1.1\r\nHost: mastodon.example\r\n\r\n"))
	}
	return err
}

// status writes a status with the members a server sends, of some 3 KB.
func status(b *strings.Builder, random *rand.Rand, words []string, id int) {
	text := func(n int) string {
		var t strings.Builder
		for range n {
			t.WriteString(words[int(random.ExpFloat64()*150)%len(words)] + " ")
		}
		return t.String()
	}
	at := time.Unix(1.7e9+int64(id)*37, int64(random.IntN(1000))*1e6).UTC().Format("2006-01-02T15:04:05.000Z")
	who, number := words[random.IntN(len(words))], 1e17+random.Int64N(1e17)
	fmt.Fprintf(b, `{"id":"%d","created_at":"%s","in_reply_to_id":null,"in_reply_to_account_id":null,"sensitive":false,"spoiler_text":"","visibility":"public","language":"en",`, number, at)
	fmt.Fprintf(b, `"uri":"https://mastodon.example/users/%[1]s/statuses/%[2]d","url":"https://mastodon.example/@%[1]s/%[2]d","replies_count":%[3]d,"reblogs_count":%[4]d,"favourites_count":%[3]d,"edited_at":null,`, who, number, random.IntN(9), random.IntN(90))
	fmt.Fprintf(b, `"content":"\u003cp\u003e%s\u003ca href=\"https://%s.example/%s\" target=\"_blank\" rel=\"nofollow noopener\"\u003e%s\u003c/a\u003e\u003c/p\u003e","reblog":null,`, text(40), who, text(1), who)
	fmt.Fprintf(b, `"account":{"id":"%d","username":"%[2]s","acct":"%[2]s","display_name":"%[3]s","locked":false,"bot":false,"discoverable":true,"group":false,"created_at":"2022-11-05T00:00:00.000Z","note":"\u003cp\u003e%[4]s\u003c/p\u003e",`, random.Int64N(1e17), who, text(2), text(30))
	fmt.Fprintf(b, `"url":"https://mastodon.example/@%[1]s","avatar":"https://files.mastodon.example/accounts/avatars/%[2]d/original/%[3]x.jpg","header":"https://files.mastodon.example/accounts/headers/%[2]d/original/%[4]x.jpg",`, who, number, random.Uint64(), random.Uint64())
	fmt.Fprintf(b, `"followers_count":%d,"following_count":%d,"statuses_count":%d,"last_status_at":"2023-11-14","emojis":[],"fields":[{"name":"%s","value":"%s","verified_at":null}]},`, random.IntN(9e4), random.IntN(900), random.IntN(9e4), text(1), text(3))
	fmt.Fprintf(b, `"media_attachments":[{"id":"%d","type":"image","url":"https://files.mastodon.example/media/%x.png","preview_url":"https://files.mastodon.example/media/small/%x.png","remote_url":null,"meta":{"original":{"width":1200,"height":900,"size":"1200x900","aspect":1.3333333333333333}},"description":"%s","blurhash":"%x"}],`, random.Int64N(1e17), random.Uint64(), random.Uint64(), text(12), random.Uint64())
	fmt.Fprintf(b, `"mentions":[],"tags":[{"name":"archives","url":"https://mastodon.example/tags/archives"},{"name":"%[1]s","url":"https://mastodon.example/tags/%[1]s"}],"emojis":[],"card":null,"poll":null}`, who)
}
