package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"srpump/pipeline/warc"
)

// posts writes a file of so many posts of a blog, each of so many bytes.
func posts(t *testing.T, name string, first, n, size int) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := warc.NewWriter(f, warc.WriteOptions{Level: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i := first; i < first+n; i++ {
		body := fmt.Sprintf(`HTTP/1.1 200 OK%s{"response":{"posts":[{"id":%d,"blog_name":"a","body":"%s"}]}}`, "\r\n\r\n", i, strings.Repeat("x", size))
		if _, err := w.Add(warc.New(warc.V10, warc.Response, "https://api.tumblr.com/v2/blog/a/posts", time.Unix(1e9, 0)).With(body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// Files are read at once and printed one after the other, as they were named.
func TestItemsKeepTheOrderOfFiles(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir := t.TempDir()
	var names []string
	for i := range 20 {
		name := filepath.Join(dir, fmt.Sprint(20-i))
		posts(t, name, i*20, 20, 20<<10)
		names = append(names, name)
	}
	var out bytes.Buffer
	err := Items{}.Run(t.Context(), []string{"-0d"}, strings.NewReader(strings.Join(names, "\x00")), &out, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(out.String()) {
		if want := fmt.Sprintf(`{"id":%d,`, n); !strings.HasPrefix(line, want) {
			t.Fatalf("line %d is %.40s", n, line)
		}
		n++
	}
	if n != 400 {
		t.Errorf("%d items", n)
	}
}

// A full writer takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// When nothing can be printed any more the reading ends, too.
func TestItemsEndWithTheOutput(t *testing.T) {
	defer goleak.VerifyNone(t)
	name := filepath.Join(t.TempDir(), "a")
	posts(t, name, 0, 200, 64<<10) // more than may wait to be printed
	err := Items{}.Run(t.Context(), []string{name, name, name}, nil, full{}, func(error) {})
	if !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("the error is %v", err)
	}
}

func TestItemsEndWithTheContext(t *testing.T) {
	defer goleak.VerifyNone(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (Items{}).Run(ctx, []string{"a", "b", "c"}, nil, io.Discard, func(error) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if err := (Items{}).Run(t.Context(), []string{"-", "-"}, nil, io.Discard, func(error) {}); !errors.As(err, new(mistake)) {
		t.Errorf("standard input twice is %v", err)
	}
}
