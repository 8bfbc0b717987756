package sqlite

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"srpump/pump/broker"
)

func openFails(t *testing.T, url string, kind error, words ...string) {
	t.Helper()
	c, err := Open(t.Context(), url, broker.Options{})
	if err == nil {
		c.Close()
		t.Fatalf("%s opened", url)
	}
	if !errors.Is(err, kind) {
		t.Errorf("error %v, want %v", err, kind)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not name %q", err, w)
		}
	}
	if broker.Hint(err) == "" {
		t.Errorf("error %q has no hint", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	openFails(t, "sqlite:", broker.ErrUnreachable)
	openFails(t, "sqlite://host/pump.db", broker.ErrUnreachable)
	openFails(t, "sqlite://"+dir+"/", broker.ErrUnreachable)
	openFails(t, "sqlite:///proc/pump/pump.db", broker.ErrUnreachable, "/proc/pump")

	file := filepath.Join(dir, "corrupt.db")
	if err := os.WriteFile(file, []byte(strings.Repeat("this is no database ", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	openFails(t, "sqlite://"+file, broker.ErrUnreachable, file, "damaged")
	openFails(t, "sqlite://"+dir, broker.ErrUnreachable, dir)
}

func TestOpenReadOnly(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root writes everywhere")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	openFails(t, "sqlite://"+dir+"/pump.db", broker.ErrUnreachable, dir)
}

func TestNewerFormat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pump.db")
	c := openTest(t, path).(*conn)
	if err := c.read(func(d *database) error { return d.script("PRAGMA user_version=99") }); err != nil {
		t.Fatal(err)
	}
	c.Close()
	openFails(t, "sqlite://"+path, broker.ErrRefused, path, "99")
}

func TestModesAndRelativePath(t *testing.T) {
	t.Chdir(t.TempDir())
	c, err := Open(t.Context(), "sqlite:state/a%20pump?.db", broker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for path, want := range map[string]os.FileMode{"state": 0o700, "state/a pump?.db": 0o600, "state/a pump?.db.d": 0o700} {
		s, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if s.Mode().Perm() != want {
			t.Errorf("%s has mode %o, want %o", path, s.Mode().Perm(), want)
		}
	}
}

// A full queue refuses aloud and takes more once there is room.
func TestFullQueue(t *testing.T) {
	c := openTest(t, filepath.Join(t.TempDir(), "pump.db"))
	defer c.Close()
	if _, err := c.DeclareQueue(t.Context(), broker.Queue{Name: "q", Args: map[string]any{"x-max-length": int32(3)}}); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		err := publishOne(t, c, "q", "")
		if i < 3 && err != nil || i >= 3 && !errors.Is(err, broker.ErrRefused) {
			t.Errorf("publishing %d: %v", i, err)
		}
		if i >= 3 && (!strings.Contains(err.Error(), `"q"`) || broker.Hint(err) == "") {
			t.Errorf("error %v names no queue or has no hint", err)
		}
	}
	if _, err := c.Purge(t.Context(), "q"); err != nil {
		t.Fatal(err)
	}
	if err := publishOne(t, c, "q", ""); err != nil {
		t.Error(err)
	}
}

func publishOne(t *testing.T, c broker.Conn, queue, expiration string) error {
	t.Helper()
	p, err := c.Publisher(t.Context(), broker.PublishOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	result := make(chan error, 1)
	err = p.Publish(t.Context(), broker.Publishing{Key: queue, Expiration: expiration}, func(err error) { result <- err })
	if err != nil {
		t.Fatal(err)
	}
	return <-result
}

// The wall clock may be set as one likes; only time that passes counts. After
// a boot, at most maxAbsence is believed.
func TestClockSteps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pump.db")
	now := reading{boot: "first", uptime: 1000, wall: 1_700_000_000_000}
	reopen := func() *conn {
		c, err := open(context.Background(), path, broker.Options{}, func() reading { return now })
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := reopen()
	if _, err := c.DeclareQueue(t.Context(), broker.Queue{Name: "q", MessageTTL: 2 * time.Hour}); err != nil {
		t.Fatal(err)
	}
	if err := publishOne(t, c, "q", ""); err != nil {
		t.Fatal(err)
	}
	c.Close()
	for _, step := range []struct {
		what string
		to   reading
		left int
	}{
		{"wall clock ten years ahead", reading{"first", 2000, 2_000_000_000_000}, 1},
		{"wall clock back to 1970", reading{"first", 3000, 0}, 1},
		{"booted with a wrong clock", reading{"second", 10, 3_000_000_000_000}, 1},
		{"an hour and a half of uptime", reading{"second", 90 * 60 * 1000, 0}, 0},
	} {
		now = step.to
		c := reopen()
		if err := c.sweep(); err != nil {
			t.Fatal(err)
		}
		if n := depthOf(t, c); n != step.left {
			t.Errorf("%s: %d left, want %d", step.what, n, step.left)
		}
		c.Close()
	}
}

type named map[string]interface{}

func TestCodec(t *testing.T) {
	in := broker.Publishing{Headers: map[string]any{
		"uint64": uint64(math.MaxUint64), "named": named{"a": int16(-1)}, "min": int64(math.MinInt64), "nan": math.Inf(1),
		"decimal": struct {
			Scale uint8
			Value int32
		}{2, 1234},
	}}
	b := encodeProperties(&in)
	var out broker.Publishing
	if err := decodeProperties(b, &out); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"uint64": uint64(math.MaxUint64), "named": map[string]any{"a": int16(-1)},
		"min": int64(math.MinInt64), "nan": math.Inf(1), "decimal": "{2 1234}"}
	if !reflect.DeepEqual(out.Headers, want) {
		t.Errorf("got %#v", out.Headers)
	}
	for n := range b {
		if err := decodeProperties(b[:n], &broker.Publishing{}); err == nil {
			t.Errorf("cut at %d of %d bytes: no error", n, len(b))
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(encodeProperties(&broker.Publishing{Headers: map[string]any{"a": []any{map[string]any{"b": nil}}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		var p broker.Publishing
		if decodeProperties(b, &p) == nil {
			encodeProperties(&p)
		}
	})
}
