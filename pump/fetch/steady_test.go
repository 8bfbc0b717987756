package fetch

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"srpump/post"
	"srpump/pump/transfer"
)

// Bytes that no checksum vouches for are kept unless the source shows that it changed while they were read.
func TestMixedBytesAreNotKept(t *testing.T) {
	data, later := noise(3), longAgo.Add(time.Minute)
	for name, c := range map[string]struct {
		sum   post.Fingerprint
		times [2]time.Time // of the first answer and of those after it
		etags [2]string
		plain bool // it knows no ranges
		mixed bool
	}{
		"another time":             {sum: post.NoSum(), times: [2]time.Time{longAgo, later}, mixed: true},
		"another ETag":             {sum: post.NoSum(), etags: [2]string{`"a"`, `"b"`}, mixed: true},
		"another host of one name": {sum: post.NoSum(), times: [2]time.Time{longAgo, longAgo}, etags: [2]string{`"a"`, `"b"`}},
		"the same":                 {sum: post.NoSum(), times: [2]time.Time{longAgo, longAgo}},
		"nobody can tell":          {sum: post.NoSum()},
		"no parts":                 {sum: post.NoSum(), times: [2]time.Time{longAgo, later}, plain: true},
		"vouched for":              {sum: md5Of(data), times: [2]time.Time{longAgo, later}},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				state := min(asked, 1)
				asked++
				if c.etags[state] != "" {
					w.Header().Set("ETag", c.etags[state])
				}
				if c.plain {
					r.Header.Del("Range")
				}
				http.ServeContent(w, r, "", c.times[state], bytes.NewReader(data))
			}))
			g := transfer.NewHTTP(transfer.HTTPOptions{})
			t.Cleanup(func() { g.Close(); s.Close() })
			tree := openTree(t, TreeOptions{})
			staged, err := Fetch(t.Context(), Job{Source: g, Request: transfer.Whole(s.URL), Tree: tree, Path: "x", Size: resumeSize, Sum: c.sum})
			if errors.Is(err, errMixed) != c.mixed || !c.mixed && err != nil {
				t.Fatalf("fetched: %v", err)
			}
			if err == nil {
				staged.Discard()
			}
			only(t, tree)
		})
	}
}
