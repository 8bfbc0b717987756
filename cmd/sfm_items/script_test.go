package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"srpump/pipeline/sfm/command"
	"srpump/pipeline/warc"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"sfm_items": main})
}

// The dialogues of sfm_items(1), as a shell has them.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireUniqueNames: true, Setup: func(e *testscript.Env) error {
		e.Setenv("GORACE", "atexit_sleep_ms=0")
		e.Setenv("HOME", "") // nothing of it is needed
		return archives(e.WorkDir)
	}})
}

const flickr = "https://api.flickr.com/services/rest/?method=flickr.photos."

// archives makes two files: photos and their sizes, and posts of Tumblr of which one is damaged.
func archives(dir string) error {
	photo := func(id, owner, posted string) [2]string {
		return [2]string{flickr + "getInfo&photo_id=" + id, fmt.Sprintf(`{"photo":{"id":"%s","owner":{"nsid":"%s"},"dates":{"posted":"%s"}},"stat":"ok"}`, id, owner, posted)}
	}
	sizes := [2]string{flickr + "getSizes&photo_id=1", `{"sizes":{"size":[{"label":"Square","source":"https://l.example/s.jpg"},{"label":"Large","source":"https://l.example/l.jpg"}]},"stat":"ok"}`}
	posts := [2]string{"https://api.tumblr.com/v2/blog/a/posts", "{\"response\":\n{\"posts\":[{\"id\":7,\"blog_name\":\"a\",\"date\":\"2011-02-25 20:27:00 GMT\",\"body\":\"<a href='http://b.example/'>b</a>\"}]}}"}
	damaged := [2]string{posts[0], `{"response":{"posts":[{"id":8,"blog_name":"a","date":"2011-02-26 20:27:00 GMT"},{"id`}
	return errors.Join(
		archive(dir+"/a.warc.gz", photo("1", "9@N01", "1438082256"), sizes, photo("2", "8@N01", "1438182256"), photo("1", "9@N01", "1438082256")),
		archive(dir+"/b.warc.gz", posts, damaged))
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
	page, err := os.ReadFile("../../man/sfm_items.1")
	if err != nil {
		t.Fatal(err)
	}
	words := func(pattern, text string) string {
		var out []string
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			out = append(out, m[1])
		}
		return strings.Join(out, " ")
	}
	_, options, _ := strings.Cut(string(page), "\n.Sh OPTIONS\n")
	options, _, _ = strings.Cut(options, "\n.Sh ")
	if got, want := words(`(?m)^\.It Fl (\w+)`, options), words(`(?m)^  -(\w+)`, command.Items{}.Help())+" h V"; got != want {
		t.Errorf("the page has the options %s, the program %s", got, want)
	}
}
