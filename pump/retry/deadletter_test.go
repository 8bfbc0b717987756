package retry

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
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
