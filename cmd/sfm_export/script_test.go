package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"srpump/pipeline/sfm/command"
	"srpump/pipeline/warc"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"sfm_export": main})
}

// The dialogues of sfm_export(1), as a shell has them. $API is a server that speaks the REST API of SFM.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireUniqueNames: true, Setup: func(e *testscript.Env) error {
		server := httptest.NewServer(api())
		e.Defer(server.Close)
		e.Setenv("API", server.URL)
		e.Setenv("GORACE", "atexit_sleep_ms=0")
		e.Setenv("HOME", "") // nothing of it is needed
		return errors.Join(archives(e.WorkDir), os.WriteFile(e.WorkDir+"/names0", []byte("a.warc.gz\x00b.warc.gz\x00"), 0o600))
	}})
}

// api has two collections, of which the second has a file that is not there.
func api() http.Handler {
	collections := []string{"0123456789abcdef0123456789abcdef", "0123ffffffffffff0123456789abcdef", "9999ffffffffffff0123456789abcdef"}
	files := [][]string{{"a", "b"}, {"a", "gone"}, nil}
	answer := func(w http.ResponseWriter, results []any) {
		_ = json.NewEncoder(w).Encode(map[string]any{"count": len(results), "next": nil, "results": results})
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/collections/", func(w http.ResponseWriter, r *http.Request) {
		results := []any{}
		for _, c := range collections {
			if strings.HasPrefix(c, r.FormValue("collection_startswith")) {
				results = append(results, map[string]any{"collection_id": c})
			}
		}
		answer(w, results)
	})
	mux.HandleFunc("GET /api/v1/warcs/", func(w http.ResponseWriter, r *http.Request) {
		results := []any{}
		if i := slices.Index(collections, r.FormValue("collection")); i >= 0 {
			for n, name := range files[i] {
				results = append(results, map[string]any{"warc_id": name, "path": "/sfm-data/" + name + ".warc.gz", "date_created": fmt.Sprintf("2026-11-2%dT00:00:00Z", n)})
			}
		}
		answer(w, results)
	})
	for name, body := range map[string]string{"page": "<html>", "array": "[]"} {
		mux.HandleFunc("/"+name+"/", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) })
	}
	return mux
}

// archives makes two files of photos, with one in both, and one of posts.
func archives(dir string) error {
	photo := func(id, owner, posted, title string) [2]string {
		return [2]string{"https://api.flickr.com/services/rest/?method=flickr.photos.getInfo&photo_id=" + id,
			fmt.Sprintf(`{"photo":{"id":"%s","owner":{"nsid":"%s"},"dates":{"posted":"%s"},"title":{"_content":%q}},"stat":"ok"}`, id, owner, posted, title)}
	}
	return errors.Join(
		archive(dir+"/a.warc.gz", photo("1", "9@N01", "1438082256", "=1+1"), photo("2", "8@N01", "1438182256", "a, b")),
		archive(dir+"/b.warc.gz", photo("2", "8@N01", "1438182256", "a, b"), photo("3", "9@N01", "1438282256", "c")),
		archive(dir+"/c.warc.gz", [2]string{"https://api.tumblr.com/v2/blog/a/posts", `{"response":{"posts":[{"id":7,"blog_name":"a","date":"2011-02-25 20:27:00 GMT"}]}}`}))
}

func archive(name string, answers ...[2]string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	w, err := warc.NewWriter(f, warc.WriteOptions{})
	if err != nil {
		return err
	}
	for _, a := range answers {
		_, broken := w.Write(warc.New(warc.V10, warc.Response, a[0], time.Unix(1e9, 0)).With("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + a[1]))
		err = errors.Join(err, broken)
	}
	return errors.Join(err, w.Close())
}

// The page has every option of the help, and no other.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../man/sfm_export.1")
	if err != nil {
		t.Fatal(err)
	}
	words := func(pattern, text string) (out []string) {
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			out = append(out, m[1])
		}
		return out
	}
	_, options, _ := strings.Cut(string(page), "\n.Sh OPTIONS\n")
	options, _, _ = strings.Cut(options, "\n.Sh ")
	want := append(words(`(?m)^  -([\w-]+)`, command.Export{}.Help()), "h", "V")
	got := words(`(?m)^\.It Fl ([\w-]+)`, options)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the page has the options %s, the program %s", got, want)
	}
}
