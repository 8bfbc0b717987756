package harvest_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/harvest"
)

// A smallDisk is a file system of a few megabytes.
type smallDisk struct {
	t    *testing.T
	dir  string
	full sync.Once
}

func newSmallDisk(t *testing.T, megabytes int) *smallDisk {
	t.Helper()
	d := &smallDisk{t: t, dir: t.TempDir()}
	if err := unix.Mount("tmpfs", d.dir, "tmpfs", 0, fmt.Sprintf("size=%dm", megabytes)); err != nil {
		if os.Getenv("SRPUMP_REQUIRE") == "1" && os.Getuid() == 0 {
			t.Fatal(err)
		}
		t.Skipf("a disk of its own cannot be had: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(d.dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return d
}

func (d *smallDisk) ballast() string { return filepath.Join(d.dir, "ballast") }

// fill takes all the room there is, once.
func (d *smallDisk) fill() {
	d.full.Do(func() {
		f, err := os.Create(d.ballast())
		if err == nil {
			defer f.Close()
			for size := 1 << 20; size > 0 && err == nil; {
				if _, err = f.Write(make([]byte, size)); errors.Is(err, unix.ENOSPC) {
					size, err = size/4, nil
				}
			}
		}
		if err != nil {
			d.t.Error(err)
		}
	})
}

// The disk is full from a step on: the harvest has failed and says so, everything that is told of is there,
// and the next one brings what is missing.
func TestDiskFull(t *testing.T) {
	for _, step := range []string{"ask", "record", "links", "move", "state", "created", "status", "result", "forget", "final", "ended", "told"} {
		t.Run(step, func(t *testing.T) {
			disk := newSmallDisk(t, 4)
			d, api := newFlickrDesk(t, 30)
			d.collection = filepath.Join(disk.dir, "k")
			d.options.Size, d.options.Tries = 8000, 1
			d.options.At = func(at string) {
				if at == step {
					disk.fill()
				}
			}
			if step == "ask" {
				api.Before(func(r *http.Request) {
					if r.FormValue("photo_id") == "115" {
						disk.fill()
					}
				})
			}
			outcome, err := harvest.New(d.options).Run(t.Context(), d.job("a1", "flickr_user", joe))
			end := fmt.Sprint(outcome, err, "\n", d.log.String())
			want, note := harvest.Failed, "msg_persist_error"
			if strings.Contains("final ended told", step) { // it was done by then
				want, note = harvest.Succeeded, ""
			}
			must(t, os.Remove(disk.ballast()))
			told := d.warcs()
			if step == "ask" && outcome == harvest.Unfinished { // what was put aside was taken, too, while the disk was being filled
				d.run(t.Context(), d.job("a1", "flickr_user", joe), harvest.Succeeded)
				maps.Copy(told, d.warcs())
			} else if err != nil || outcome != want || codes(d.last().Errors) != note {
				t.Errorf("outcome %s", end)
			}
			for _, e := range d.last().Errors {
				if !strings.Contains(e.Message, disk.dir) {
					t.Errorf("the place is not named: %v", e)
				}
			}
			first := counted(d.last())
			d.run(t.Context(), d.job("a2", "flickr_user", joe), harvest.Succeeded)
			if n := first + counted(d.last()); n != 30 && n != 31 { // one was on its way, and is in both
				t.Errorf("%d and then %d of 30 are counted; outcome %s", first, counted(d.last()), end)
			}
			maps.Copy(told, d.warcs())
			d.checkPlaces(told)
		})
	}
}

// warcs are the paths of those told of.
func (d *desk) warcs() map[string]bool {
	d.t.Helper()
	paths := make(map[string]bool)
	for _, m := range d.said {
		if m.key == sfm.CreatedKey {
			c, err := sfm.ParseCreated(m.body)
			must(d.t, err)
			paths[c.Path] = true
		}
	}
	return paths
}

// checkPlaces finds everything that was told of in the collection, and no other file.
func (d *desk) checkPlaces(told map[string]bool) {
	d.t.Helper()
	must(d.t, filepath.WalkDir(d.collection, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && !told[path] && e.Name() != "state.json" && !strings.HasSuffix(path, ".lock") {
			d.t.Errorf("%s is nobody's", path)
		}
		delete(told, path)
		return err
	}))
	if len(told) > 0 {
		d.t.Errorf("not there are %v", told)
	}
}

// Where not even a harvest can begin, nothing is asked, and the requester hears why.
func TestDiskFullBefore(t *testing.T) {
	disk := newSmallDisk(t, 4)
	d, api := newFlickrDesk(t, 3)
	d.collection = filepath.Join(disk.dir, "k")
	disk.fill()
	d.run(t.Context(), d.job("a1", "flickr_user", joe), harvest.Failed)
	if codes(d.last().Errors) != "msg_persist_error" || len(api.Asked("")) > 0 {
		t.Errorf("ended with %+v", d.last())
	}
	if e := d.last().Errors; len(e) != 1 || !strings.Contains(e[0].Message, d.collection) {
		t.Errorf("the place is not named: %v", e)
	}
}

// A stream fills the disk: what came before is kept, at once when there is room enough put aside, and else
// when there is some again.
func TestDiskFullStream(t *testing.T) {
	for _, posts := range []int{2500, 12000} {
		t.Run(fmt.Sprint(posts), func(t *testing.T) {
			disk, api := newSmallDisk(t, 12), openMastodon(t)
			d := newDesk(t, api.URL)
			d.collection, d.options.Tries = filepath.Join(disk.dir, "k"), 1
			go func() {
				soon(func() bool { return api.Listeners() == 1 })
				last := api.Post("1", "", posts)
				soon(func() bool { return strings.Contains(parts(d.collection), `"id":"`+last+`"`) })
				disk.fill()
				api.Post("1", "", 500)
			}()
			job, stop := d.job("st", "mastodon_stream", publicSeed), make(chan struct{})
			close(stop)
			outcome, err := harvest.New(d.options).Run(t.Context(), job)
			must(t, os.Remove(disk.ballast()))
			if outcome == harvest.Unfinished {
				job.Stop = stop
				d.run(t.Context(), job, harvest.Succeeded)
			} else if outcome != harvest.Failed || codes(d.last().Errors) != "msg_persist_error" {
				t.Errorf("outcome %v, %v, ended with %+v", outcome, err, d.last())
			}
			if n := counted(d.last()); n < int64(posts) || int64(len(archived(t, d.collection))) != n || (outcome == harvest.Unfinished) != (posts == 12000) {
				t.Errorf("%d are counted, %d are archived; outcome %v, %v", n, len(archived(t, d.collection)), outcome, err)
			}
		})
	}
}
