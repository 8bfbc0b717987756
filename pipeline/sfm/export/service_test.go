package export

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/outbox"
	"srpump/pipeline/spool"
)

// A spool is served: requests are answered and removed, priority first, what cannot be read is set
// aside, and what is for others stays.
func TestService(t *testing.T) {
	dir := t.TempDir()
	_, api := serve(t, Warc{ID: "a", Path: archive(t, dir+"/a", photo("1", "x", 1))})
	in := filepath.Join(dir, "spool", InDir)
	leave := func(n uint64, key string, body []byte) string {
		p := outbox.Message(sfm.Exchange)
		p.Key, p.Body = key, body
		name := spool.Name(n, key, "")
		if err := spool.Leave(in, name, p); err != nil {
			t.Fatal(err)
		}
		return name
	}
	if err := os.MkdirAll(in, 0o775); err != nil {
		t.Fatal(err)
	}
	nameless := leave(5, "export.start.flickr.flickr_user", []byte(`{"type":"flickr_user","format":"csv","path":"/x","collection":{"id":"c"}}`))
	broken := leave(1, "export.start.flickr.flickr_user", []byte("{bad"))
	leave(2, "export.start.flickr.flickr_user", ask(dir+"/out/1", ofCollection))
	other := leave(3, "harvest.start.flickr.flickr_user", []byte("{}"))
	leave(4, "export.start.flickr.flickr_user.priority", ask(dir+"/out/2", `"format":"json_full","collection":{"id":"c"}`))
	if err := os.WriteFile(filepath.Join(in, "by-hand.json"), ask(dir+"/out/3", `"format":"csv","collection":{"id":"c"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(in, "by-hand.json"), time.Time{}, time.Unix(1e9, 0)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	told, finals := &said{}, 0
	told.heard = func(s sfm.ExportStatus) {
		if s.Status != sfm.Running {
			if finals++; finals == 3 {
				cancel()
			}
		}
	}
	x := exporter(api, told, filepath.Join(dir, "spool", Records))
	s := Service{Dir: filepath.Join(dir, "spool"), Exporter: x, Log: quiet(), Now: time.Now}
	if err := s.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if told.words() != "running, completed success, running, completed success, running, completed success" || told.keys[0] != "export.status.flickr.flickr_user.priority" {
		t.Errorf("said %s under %q", told.words(), told.keys)
	}
	if names, err := spool.List(in); err != nil || len(names) != 1 || names[0] != other {
		t.Errorf("left are %q, %v", names, err)
	}
	for _, name := range []string{broken, nameless} {
		if _, err := os.Stat(filepath.Join(dir, "spool", failedDir, name+".why")); err != nil {
			t.Error(err)
		}
	}
	if contents(t, dir+"/out/3")["e_1_001.csv"] == "" {
		t.Error("a request without a routing key was not done")
	}
	first, err := spool.Attend(s.Dir, "sfm_export", InDir)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if err := s.Run(t.Context()); err == nil {
		t.Error("two serve one spool")
	}
}

// The disk does not give a request, or does not let it be set aside: it stays, and is looked at again.
func TestServiceDiskTrouble(t *testing.T) {
	now := time.Now()
	s := &Service{Dir: t.TempDir(), Log: quiet(), Now: func() time.Time { return now }, later: map[string]time.Time{}}
	in := filepath.Join(s.Dir, InDir)
	unread, broken := spool.Name(1, "export.start.flickr.flickr_user", ""), spool.Name(2, "export.start.flickr.flickr_user", "b")
	blocked := filepath.Join(s.Dir, failedDir, broken+".why")
	for _, dir := range []string{filepath.Join(in, unread+".meta"), blocked} {
		if err := os.MkdirAll(dir, 0o775); err != nil {
			t.Fatal(err)
		}
	}
	for name, body := range map[string][]byte{unread: ask("/out", ofCollection), broken: []byte("{bad")} {
		if err := os.WriteFile(filepath.Join(in, name), body, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(time.Minute)
	if r, err := s.next(); r != nil || err != nil {
		t.Errorf("next is %v, %v", r, err)
	}
	if names, err := spool.List(in); err != nil || len(names) != 2 {
		t.Errorf("left are %q, %v", names, err)
	}
	for _, dir := range []string{filepath.Join(in, unread+".meta"), blocked} {
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(2 * failWait)
	if r, err := s.next(); r == nil || r.name != unread || err != nil {
		t.Errorf("next is %v, %v", r, err)
	}
	if names, err := spool.List(in); err != nil || len(names) != 1 {
		t.Errorf("left are %q, %v", names, err)
	}
}
