package export

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"srpump/pipeline/sfm"
	"srpump/pipeline/warc"
)

// archive writes a WARC file of answers, each an address and a body.
func archive(t *testing.T, path string, answers ...[2]string) string {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := warc.NewWriter(f, warc.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range answers {
		if _, err := w.Write(warc.New(warc.V10, warc.Response, a[0], time.Unix(1e9, 0)).With("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + a[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// photo is an answer with one photo, of an owner, posted so many days after 2001-09-09.
func photo(id, owner string, day int) [2]string {
	return [2]string{"https://api.flickr.com/services/rest/?method=flickr.photos.getInfo&photo_id=" + id,
		fmt.Sprintf(`{"photo":{"id":"%s","owner":{"nsid":"%s"},"dates":{"posted":"%d"}},"stat":"ok"}`, id, owner, 1000000000+day*86400)}
}

// contents are the files of a directory, by name.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(data)
	}
	return all
}

// A server speaks the REST API of SFM, in pages of limit or fewer, whose addresses of next pages name
// another host.
type server struct {
	*httptest.Server
	warcs []Warc
	seeds map[string][]string // ids of the WARCs of a seed
	most  int                 // of a page
	odd   func(w http.ResponseWriter, r *http.Request) bool
	asked []url.Values
}

func serve(t *testing.T, warcs ...Warc) (*server, *API) {
	t.Helper()
	s := &server{warcs: warcs, most: 2}
	s.Server = httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(s.Close)
	api, err := NewAPI(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	api.wait = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	return s, api
}

func (s *server) answer(w http.ResponseWriter, r *http.Request) {
	s.asked = append(s.asked, r.URL.Query())
	if s.odd != nil && s.odd(w, r) {
		return
	}
	if r.URL.Path != "/api/v1/warcs/" {
		http.NotFound(w, r)
		return
	}
	var all []Warc
	for _, x := range s.warcs {
		seeds := strings.Split(r.FormValue("seed"), ",")
		if r.FormValue("seed") == "" || slices.ContainsFunc(seeds, func(seed string) bool { return slices.Contains(s.seeds[seed], x.ID) }) {
			all = append(all, x)
		}
	}
	limit, _ := strconv.Atoi(r.FormValue("limit"))
	offset, _ := strconv.Atoi(r.FormValue("offset"))
	end := min(len(all), offset+min(limit, s.most))
	var next any
	if end < len(all) {
		q := r.URL.Query()
		q.Set("offset", strconv.Itoa(end))
		next = "http://nowhere.invalid:8080" + r.URL.Path + "?" + q.Encode()
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"count": len(all), "next": next, "results": all[min(offset, end):end]})
}

// A said outbox keeps what is said.
type said struct {
	number   uint64
	statuses []sfm.ExportStatus
	keys     []string
	numbers  []uint64
	fail     error
	heard    func(sfm.ExportStatus)
}

func (s *said) Next(least uint64) uint64 {
	s.number = max(s.number+1, least)
	return s.number
}

func (s *said) Put(number uint64, key, _ string, _ map[string]any, body []byte) error {
	if s.fail != nil {
		return s.fail
	}
	status, err := sfm.ParseExportStatus(body)
	if err != nil {
		return err
	}
	s.statuses, s.keys, s.numbers = append(s.statuses, *status), append(s.keys, key), append(s.numbers, number)
	if s.heard != nil {
		s.heard(*status)
	}
	return nil
}

func (s *said) words() string {
	var all []string
	for _, status := range s.statuses {
		word := status.Status
		for _, n := range status.Errors {
			word += " " + n.Code
		}
		all = append(all, word)
	}
	return strings.Join(all, ", ")
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// exporter is one whose paths are as they are.
func exporter(api *API, out Outbox, records string) *Exporter {
	return New(Options{API: api, Out: out, Records: records, Host: "h", Instance: "7", Log: quiet(), Now: time.Now})
}

// ask is an export start message.
func ask(dir, rest string) []byte {
	return fmt.Appendf(nil, `{"id":"e 1","type":"flickr_user","path":"%s","segment_size":null,%s}`, dir, rest)
}

const ofCollection = `"format":"dehydrate","collection":{"id":"c"}`
