package export

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"srpump/pipeline/sfm"
)

// Files are read at once, and their items still come in the order of the files; duplicates in any of
// them are dropped, and segments have so many items.
func TestMakeOrder(t *testing.T) {
	dir := t.TempDir()
	var paths, want []string
	for n := range 40 {
		var answers [][2]string
		for i := range 60 {
			id := fmt.Sprint(n*50 + i) // ten are in the next file, too
			answers = append(answers, photo(id, "o", 1))
			if i >= 10 || n == 0 {
				want = append(want, id)
			}
		}
		paths = append(paths, archive(t, filepath.Join(dir, fmt.Sprint(n)), answers...))
	}
	left, err := Make(t.Context(), Order{ID: "x", Type: "flickr_user", Format: "dehydrate", Dir: dir + "/out", Dedupe: true, Segment: 700}, slices.Values(paths))
	if err != nil || left.Items != int64(len(want)) || left.Dropped != 39*10 || left.Files != 3 || left.Warcs != 40 {
		t.Fatalf("left %+v, %v", left, err)
	}
	files := contents(t, dir+"/out")
	got := strings.Fields(files["x_001.txt"] + files["x_002.txt"] + files["x_003.txt"])
	if !slices.Equal(got, want) || strings.Count(files["x_001.txt"], "\n") != 700 || strings.Count(files["x_002.txt"], "\n") != 700 {
		t.Errorf("%d ids, want %d: %.80q", len(got), len(want), got)
	}
}

// Owners and dates choose; both ends of the dates count, and items without a date pass.
func TestMakeChoice(t *testing.T) {
	dir := t.TempDir()
	dateless := photo("9", "a", 0)
	dateless[1] = strings.Replace(dateless[1], `"posted":"1000000000"`, `"taken":"x"`, 1)
	path := archive(t, dir+"/a", photo("1", "a", 1), photo("2", "b", 2), photo("3", "a", 3), photo("4", "a", 4), dateless)
	o := Order{ID: "x", Type: "flickr_user", Format: "dehydrate", Dir: dir + "/out", Owners: []string{"a"},
		Since: time.Unix(1000000000+86400, 0), Until: time.Unix(1000000000+3*86400, 0)}
	if _, err := Make(t.Context(), o, slices.Values([]string{path})); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, dir+"/out")["x_001.txt"]; got != "1\n3\n9\n" {
		t.Errorf("exported are %q", got)
	}
}

// What is missing or damaged is told, and all else exported.
func TestMakeDamage(t *testing.T) {
	dir := t.TempDir()
	good := archive(t, dir+"/good", photo("1", "a", 1))
	bad := archive(t, dir+"/bad", photo("2", "a", 1), [2]string{photo("", "", 1)[0], `{"photo":`}, photo("3", "a", 1))
	left, err := Make(t.Context(), Order{ID: "x", Type: "flickr_user", Format: "dehydrate", Dir: dir + "/out"}, slices.Values([]string{good, dir + "/gone", bad, dir}))
	if err != nil || contents(t, dir+"/out")["x_001.txt"] != "1\n2\n3\n" {
		t.Fatalf("left %+v, %v, %v", left, err, contents(t, dir+"/out"))
	}
	if len(left.Errors) != 2 || left.Errors[0].Code != sfm.WarcMissing || left.Errors[1].Code != sfm.WarcMissing || len(left.Warnings) != 1 || left.Warnings[0].Code != sfm.WarcUnreadable {
		t.Errorf("left %+v", left)
	}
}

// A file that is cut off, or has no record, makes the export a failure; what was before is exported, and
// it is told of once.
func TestMakeCut(t *testing.T) {
	dir := t.TempDir()
	sizes := photo("2", "a", 1)
	sizes[1] += strings.Repeat(" ", 1000)
	whole, err := os.ReadFile(archive(t, dir+"/whole", photo("1", "a", 1), sizes))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"cut": whole[:len(whole)-30], "empty": nil, "noise": []byte(strings.Repeat("noise ", 100))} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	left, err := Make(t.Context(), Order{ID: "x", Type: "flickr_user", Format: "dehydrate", Dir: dir + "/out"}, slices.Values([]string{dir + "/cut", dir + "/empty", dir + "/noise"}))
	if err != nil || !strings.HasPrefix(contents(t, dir+"/out")["x_001.txt"], "1\n") {
		t.Fatalf("left %+v, %v", left, err)
	}
	var said []string
	for i, n := range left.Errors {
		_, why, _ := strings.Cut(n.Message, "to its end: ")
		said = append(said, n.Code+" "+why)
		if want := []string{"the file ends within the record", "it is empty", "there is no WARC record in it"}[i]; !strings.Contains(why, want) {
			t.Errorf("%q, want %q", n.Message, want)
		}
	}
	if len(said) != 3 {
		t.Errorf("said %q, warned %+v", said, left.Warnings)
	}
	for _, n := range left.Warnings {
		if strings.Contains(n.Message, "/cut:") {
			t.Errorf("told twice: %s", n.Message)
		}
	}
}

// Items of other platforms are counted, whether the type was said or not.
func TestMakePassedOver(t *testing.T) {
	dir := t.TempDir()
	post := [2]string{"https://api.tumblr.com/v2/blog/a/posts", `{"response":{"posts":[{"id":7,"blog_name":"a"},{"id":8,"blog_name":"a"}]}}`}
	path := archive(t, dir+"/a", photo("1", "a", 1), post)
	for _, kind := range []string{"flickr_user", ""} {
		o := Order{ID: "x", Type: kind, Format: "csv", Dir: dir + "/out"}
		if err := o.Sniff(t.Context(), slices.Values([]string{path})); err != nil {
			t.Fatal(err)
		}
		left, err := Make(t.Context(), o, slices.Values([]string{path, path}))
		if err != nil || left.Items != 2 || len(left.Infos) != 1 || left.Infos[0].Message != "4 items of other platforms are not in the export: 4 tumblr_posts" {
			t.Errorf("%q: left %+v, %v", kind, left, err)
		}
	}
}

// An export of no file is refused, and what was there stays.
func TestMakeOfNoFile(t *testing.T) {
	dir := t.TempDir()
	var refusal *Refusal
	if _, err := Make(t.Context(), Order{ID: "x", Type: "feed", Format: "csv", Dir: dir + "/out"}, slices.Values([]string{})); !errors.As(err, &refusal) || refusal.Code != sfm.NoWarcs {
		t.Errorf("ended with %v", err)
	}
	if _, err := os.Stat(dir + "/out"); err == nil {
		t.Error("there is an export")
	}
}

// Of very many faults some are told, and the others counted.
func TestManyNotes(t *testing.T) {
	var one, all notes
	for i := range 70 {
		one.add("a", "%d", i)
	}
	all.add("b", "b")
	all.merge(&one)
	all.merge(&one)
	list := all.list()
	if len(list) != 52 || list[51].Message != "and 90 more" || list[0].Code != "b" || len(all.list()) != 52 {
		t.Errorf("%d notes: %+v", len(list), list)
	}
}

// An export without items is one file, with its head.
func TestMakeNothing(t *testing.T) {
	dir := t.TempDir()
	if _, err := Make(t.Context(), Order{ID: "x", Type: "feed", Format: "tsv", Dir: dir + "/out", Segment: 5}, slices.Values([]string{archive(t, dir+"/a", photo("1", "a", 1))})); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, dir+"/out"); len(got) != 1 || !strings.HasPrefix(got["x_001.tsv"], "id\tdate_published\t") || strings.Count(got["x_001.tsv"], "\n") != 1 {
		t.Errorf("exported is %q", got)
	}
}

// The directory is replaced as a whole but for what SFM UI wrote into it; one that holds anything else
// is left alone.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path := archive(t, dir+"/a", photo("1", "a", 1), photo("2", "a", 1))
	o := Order{ID: "x", Type: "flickr_user", Format: "dehydrate", Dir: dir + "/deep/out", Segment: 1}
	for range 2 {
		if _, err := Make(t.Context(), o, slices.Values([]string{path})); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(o.Dir+"/x-README.txt", []byte("read"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o.Segment = 0
	if _, err := Make(t.Context(), o, slices.Values([]string{path})); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"x_001.txt": "1\n2\n", "x-README.txt": "read"}
	if got := contents(t, o.Dir); !reflect.DeepEqual(got, want) {
		t.Errorf("there are %q", got)
	}
	if err := os.WriteFile(o.Dir+"/thesis.doc", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var refusal *Refusal
	if _, err := Make(t.Context(), o, slices.Values([]string{path})); !errors.As(err, &refusal) || len(contents(t, o.Dir)) != 3 {
		t.Errorf("replaced a directory of others: %v", err)
	}
	if names, err := os.ReadDir(dir + "/deep"); err != nil || len(names) != 1 {
		t.Errorf("left are %v, %v", names, err)
	}
}

// One that is interrupted, or cannot be written, leaves the old one and nothing else.
func TestMakeStopped(t *testing.T) {
	dir := t.TempDir()
	path := archive(t, dir+"/a", photo("1", "a", 1))
	o := Order{ID: "x", Type: "flickr_user", Format: "dehydrate", Dir: dir + "/out"}
	if _, err := Make(t.Context(), o, slices.Values([]string{path})); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Make(ctx, o, func(yield func(string) bool) {
		yield(path)
		cancel()
		yield(path)
	})
	if !errors.Is(err, context.Canceled) || contents(t, o.Dir)["x_001.txt"] != "1\n" {
		t.Errorf("ended with %v, %q", err, contents(t, o.Dir))
	}
	if _, err := os.Stat(stagePath(o.ID, o.Dir)); err == nil {
		t.Error("the stage is left")
	}
	m, err := begin(&Order{ID: "x", Type: "flickr_user", Format: "dehydrate", Dir: o.Dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Make(t.Context(), o, slices.Values([]string{path})); !errors.Is(err, ErrBusy) {
		t.Errorf("two at once: %v", err)
	}
	if err := m.stage.discard(); err != nil {
		t.Error(err)
	}
}
