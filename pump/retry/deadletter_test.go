package retry

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"srpump/post"
)

// A body of 100 MB is refused and set aside in an amount of memory, and of the disk, that does not follow from
// how long it is.
func TestEndlessBody(t *testing.T) {
	body := append([]byte(`{"pubTime":"20261121T000000.5","baseUrl":"http://h/","relPath":"x","content":{"encoding":"utf-8","value":"`), bytes.Repeat([]byte("x"), 100<<20)...)
	file := filepath.Join(t.TempDir(), deadLetterFile)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := post.Decode("v03.x", nil, body)
	if !errors.Is(err, post.ErrMalformed) {
		t.Fatal(err)
	}
	if err := OpenDeadLetter(file).Write("v03.x", nil, body, err.Error(), time.Now()); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 100<<20 {
		t.Errorf("%d MiB were allocated", n>>20)
	}
	kept, err := os.ReadFile(file)
	if err != nil || len(kept) > deadBodyMax+1<<10 || !strings.Contains(string(kept[:1<<10]), "(of 104857") {
		t.Errorf("%d bytes kept: %.300s %v", len(kept), kept, err)
	}
}

// Dead letters that are written at once are all there, each once, a line each.
func TestDeadLettersAtOnce(t *testing.T) {
	dir := t.TempDir()
	d := OpenDeadLetter(filepath.Join(dir, deadLetterFile))
	var writing sync.WaitGroup
	for i := range 200 {
		writing.Go(func() {
			if err := d.Write("v02.post.a", nil, fmt.Appendf(nil, "20261121000000 http://h/ f%03d\n", i), "why", time.Now()); err != nil {
				t.Error(err)
			}
		})
	}
	writing.Wait()
	list, err := List(dir)
	paths := make(map[string]bool)
	for _, l := range list {
		paths[l.Path] = true
	}
	if err != nil || len(list) != 200 || len(paths) != 200 {
		t.Errorf("%d letters of %d paths, %v", len(list), len(paths), err)
	}
	d = OpenDeadLetter(filepath.Join(dir, "none", deadLetterFile))
	if err := d.Write("v02.post.a", nil, nil, "why", time.Now()); err == nil {
		t.Error("written to no directory")
	}
}
