package harvest_test

import (
	"context"
	"crypto/md5"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/harvest"
	"srpump/pipeline/sfm/items"
	"srpump/pipeline/sfm/outbox"
	"srpump/pipeline/sfm/platform"
	"srpump/pipeline/sfm/platform/apitest"
	"srpump/pipeline/spool"
	"srpump/pipeline/warc"
	"srpump/post"
)

// childEnv makes the test program a harvester that serves a spool.
const childEnv = "SRPUMP_TEST_HARVESTER"

func TestMain(m *testing.M) {
	if text := os.Getenv(childEnv); text != "" {
		if err := child(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// An order is what a child is to do.
type order struct {
	Dir, Base string
	Size      int64
	Kill      string // the step before which it is killed
	Nth       int    // the how manieth time
}

// child serves the spool until nothing is left in it.
func child(text string) error {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	out, err := outbox.Open(filepath.Join(o.Dir, "spool", "out"), outbox.Message(sfm.Exchange), time.Now)
	if err != nil {
		return err
	}
	announced, err := outbox.Open(filepath.Join(o.Dir, "spool", "announce"), outbox.Message(""), time.Now)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	seen := 0
	bases := make(map[string]string)
	for _, kind := range platform.Types() {
		bases[kind.Name] = o.Base
	}
	h := harvest.New(harvest.Options{Out: out, Types: platform.Types(), Bases: bases, Tries: 3, TryPause: time.Millisecond,
		Announce: &harvest.Announce{Out: announced, Base: "http://127.0.0.1/", Dir: o.Dir}, Size: o.Size, Links: true,
		Patience: harvest.Patience{Tries: 3, Pause: time.Millisecond}, Log: log, Now: time.Now, Host: "here", Instance: "1", Software: "test",
		Known: func(id string) bool {
			_, err := os.Stat(filepath.Join(o.Dir, "known", id))
			return err == nil
		},
		At: func(step string) {
			if step == o.Kill {
				if seen++; seen == o.Nth {
					_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
					select {}
				}
			}
		}})
	ctx, stop := context.WithCancel(context.Background())
	s := harvest.Service{Dir: filepath.Join(o.Dir, "spool"), Harvester: h, Jobs: 2, Log: log, Now: time.Now}
	go func() {
		defer stop()
		for {
			names, err := spool.List(filepath.Join(s.Dir, "in"))
			if err != nil || len(names) == 0 {
				return
			}
			time.Sleep(5 * time.Millisecond) // it is the end that is polled for, nothing is waited for
		}
	}()
	return s.Run(ctx)
}

// begin starts a child.
func (o order) begin(t *testing.T) (*exec.Cmd, *strings.Builder) {
	t.Helper()
	text, err := json.Marshal(o)
	must(t, err)
	cmd, said := exec.Command(os.Args[0]), new(strings.Builder)
	cmd.Env, cmd.Stderr = append(os.Environ(), childEnv+"="+string(text), "GORACE=atexit_sleep_ms=0"), said
	must(t, cmd.Start())
	return cmd, said
}

// leave puts a message into the spool of a directory.
func leave(t *testing.T, dir, key, id, body string) {
	t.Helper()
	box, err := outbox.Open(filepath.Join(dir, "spool", "in"), outbox.Message(sfm.Exchange), time.Now)
	must(t, err)
	must(t, box.Put(box.Next(0), key, id, nil, []byte(body)))
}

// A site is a spool, a collection and the platform it is harvested from.
type site struct {
	t      *testing.T
	api    *apitest.Flickr
	dir    string
	photos int
	said   []spoken // what was taken from the outbox
	size   int64
}

type spoken struct {
	key  string
	body []byte
}

const photoCount = 12

func newSite(t *testing.T) *site {
	s := &site{t: t, api: apitest.OpenFlickr(t), dir: t.TempDir(), photos: photoCount, size: 4000}
	s.api.User("9@N01", "joe")
	for i := range s.photos {
		s.api.Post("9@N01", 100+i)
	}
	s.ask("1")
	return s
}

// request is what is asked for; the routing key is in the name.
func (s *site) ask(number string) {
	s.t.Helper()
	leave(s.t, s.dir, "harvest.start.flickr.flickr_user", "a1"+number, fmt.Sprintf(`{"id":"a1","type":"flickr_user","path":%q,
		"seeds":[{"id":"S1","token":"joe"}],"credentials":{"key":"0123456789abcdef"},"collection_set":{"id":"s"},"collection":{"id":"k"}}`, s.collection()))
}

func (s *site) collection() string { return filepath.Join(s.dir, "s", "k") }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// start starts a child.
func (s *site) start(kill string, nth int) (*exec.Cmd, *strings.Builder) {
	s.t.Helper()
	return order{s.dir, s.api.Base, s.size, kill, nth}.begin(s.t)
}

// run runs a child and tells whether it was killed.
func (s *site) run(kill string, nth int) bool {
	s.t.Helper()
	cmd, said := s.start(kill, nth)
	return s.ended(cmd.Wait(), said)
}

func (s *site) ended(err error, said *strings.Builder) (killed bool) {
	s.t.Helper()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return true
	}
	if err != nil {
		s.t.Fatalf("the harvester ended with %v:\n%s", err, said)
	}
	return false
}

// publish takes what is in the outbox, as sr_spool out does. The last of it may stay, as when that is
// killed between the confirm and the removal.
func (s *site) publish(keepLast bool) {
	s.t.Helper()
	dir := filepath.Join(s.dir, "spool", "out")
	names, err := spool.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	must(s.t, err)
	for i, name := range names {
		p, err := spool.Read(dir, name)
		must(s.t, err)
		s.said = append(s.said, spoken{p.Key, p.Body})
		if c, err := sfm.ParseCreated(p.Body); err == nil {
			must(s.t, os.MkdirAll(filepath.Join(s.dir, "known"), 0o755))
			must(s.t, os.WriteFile(filepath.Join(s.dir, "known", c.WarcID), nil, 0o644))
		}
		if i < len(names)-1 || !keepLast {
			must(s.t, spool.Remove(dir, name))
		}
	}
}

// check holds the end of a harvest against that of one that nobody has interrupted.
func (s *site) check() {
	s.t.Helper()
	s.publish(false)
	var last *sfm.Status
	announced := make(map[string]*sfm.Created)
	links := make(map[string]string)
	for _, m := range s.said {
		switch m.key {
		case sfm.CreatedKey:
			c, err := sfm.ParseCreated(m.body)
			must(s.t, err)
			if before := announced[c.Path]; before != nil && *before != *c {
				s.t.Errorf("%s is told of twice, and not the same", c.Path)
			}
			announced[c.Path] = c
		case sfm.WebStartKey:
			w, err := sfm.ParseStart(m.body)
			must(s.t, err)
			for _, seed := range w.Seeds {
				links[seed.Token.String()] = w.ID
			}
		default:
			status, err := sfm.ParseStatus(m.body)
			must(s.t, err)
			last = status
		}
	}
	if last == nil || last.Status != sfm.Success || last.Warcs.Count != int64(len(announced)) {
		s.t.Fatalf("the last status is %+v, with %d WARCs told of", last, len(announced))
	}
	if n := last.Stats[time.Now().Format(time.DateOnly)]["flickr photos"]; n != int64(s.photos) {
		s.t.Errorf("%d photos are counted of %d", n, s.photos)
	}
	if len(links) != 3*s.photos {
		s.t.Errorf("%d addresses are asked for of %d", len(links), 3*s.photos)
	}
	s.checkAnnounced(announced)
	s.checkFiles(announced)
}

// checkAnnounced holds the announcements of files against what was told of.
func (s *site) checkAnnounced(told map[string]*sfm.Created) {
	s.t.Helper()
	dir, found := filepath.Join(s.dir, "spool", "announce"), make(map[string]bool)
	names, err := spool.List(dir)
	must(s.t, err)
	for _, name := range names {
		p, err := spool.Read(dir, name)
		must(s.t, err)
		a, err := post.DecodeV02(p.Key, p.Headers, p.Body)
		must(s.t, err)
		path := filepath.Join(s.dir, a.Path)
		data, err := os.ReadFile(path)
		must(s.t, err)
		headers := make(map[string]string)
		for name := range a.Headers {
			headers[name] = a.Header(name)
		}
		c, err := sfm.FromHeaders(headers, path, a.Size())
		must(s.t, err)
		if want := fmt.Sprintf("%x", md5.Sum(data)); a.Sum.Method != "d" || a.Sum.Value != want || a.Base != "http://127.0.0.1/" || *c != *told[path] {
			s.t.Errorf("%s is announced as %+v, %+v", path, a, c)
		}
		found[path] = true
	}
	if len(found) != len(told) {
		s.t.Errorf("%d of %d files are announced", len(found), len(told))
	}
}

// checkFiles looks at the collection: what is told of is there, whole, and nothing else is.
func (s *site) checkFiles(announced map[string]*sfm.Created) {
	s.t.Helper()
	found := make(map[string]bool)
	must(s.t, filepath.WalkDir(s.collection(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		switch {
		case announced[path] != nil:
			s.photosOf(path, found)
			delete(announced, path)
		case !strings.HasSuffix(path, ".lock") && d.Name() != "state.json":
			s.t.Errorf("%s is nobody's", path)
		}
		return nil
	}))
	if len(announced) > 0 {
		s.t.Errorf("not there are %v", announced)
	}
	if len(found) != s.photos {
		s.t.Errorf("%d photos are archived of %d", len(found), s.photos)
	}
	state, err := os.ReadFile(filepath.Join(s.collection(), "state.json"))
	must(s.t, err)
	if !strings.Contains(string(state), fmt.Sprintf(`"9@N01.last_photo_id": "%d"`, 99+s.photos)) || strings.Contains(string(state), `"open"`) {
		s.t.Errorf("the state is %s", state)
	}
	left, err := spool.List(filepath.Join(s.dir, "spool", "in"))
	must(s.t, err)
	if len(left) > 0 {
		s.t.Errorf("left in the spool are %q", left)
	}
}

// photosOf reads a WARC, in which nothing may be damaged.
func (s *site) photosOf(path string, found map[string]bool) {
	s.t.Helper()
	f, err := os.Open(path)
	must(s.t, err)
	defer f.Close()
	reader, _ := items.For("flickr_user")
	reader.Report = func(d items.Damage) { s.t.Errorf("%s: %+v", path, d) }
	in := warc.NewReader(f, warc.ReadOptions{Report: func(f *warc.Fault) { s.t.Errorf("%s: %s", path, f) }})
	for {
		rec, err := in.Next()
		if err == io.EOF {
			return
		}
		must(s.t, err)
		must(s.t, reader.Items(rec, func(i items.Item) error {
			if reader.Counts(i) {
				found[i.ID] = true
			}
			return nil
		}))
		_, err = io.Copy(io.Discard, rec.Block)
		must(s.t, err)
	}
}
