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
	if len(left.Errors) != 2 || left.Errors[0].Code != sfm.WarcMissing || left.Errors[1].Code != sfm.WarcUnreadable || len(left.Warnings) != 1 || left.Warnings[0].Code != sfm.WarcUnreadable {
		t.Errorf("left %+v", left)
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
