package post

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A keptFile is an open file of one second ago on a file system that has extended attributes.
type keptFile struct {
	*os.File
	t *testing.T
}

func newKeptFile(t *testing.T) keptFile {
	t.Helper()
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, []byte("one"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	k := keptFile{f, t}
	k.at(time.Now().Add(-time.Second))
	if !setAttr(f, "user.probe", "x") {
		t.Skip("no extended attributes here")
	}
	return k
}

func (k keptFile) at(mtime time.Time) {
	if err := os.Chtimes(k.Name(), mtime, mtime); err != nil {
		k.t.Fatal(err)
	}
}

func (k keptFile) info() fs.FileInfo {
	k.t.Helper()
	fi, err := k.Stat()
	if err != nil {
		k.t.Fatal(err)
	}
	return fi
}

// The attributes are those of living peers, and hold for one method and one state of the file.
func TestKeptSum(t *testing.T) {
	f := newKeptFile(t)
	sum := OfHash(SumMD5, NewHash(SumMD5))
	if _, ok := KeptSum(f.File, f.info(), SumMD5); ok {
		t.Error("kept before it was")
	}
	if !KeepSum(f.File, f.info(), sum, time.Now()) {
		t.Fatal("not kept")
	}
	if v, _ := getAttr(f.File, "user.sr_sum"); v != "d,d41d8cd98f00b204e9800998ecf8427e" {
		t.Errorf("user.sr_sum is %q", v)
	}
	if v, _ := getAttr(f.File, "user.sr_mtime"); v != FormatTime(f.info().ModTime()) {
		t.Errorf("user.sr_mtime is %q", v)
	}
	if got, ok := KeptSum(f.File, f.info(), SumMD5); !ok || got != sum {
		t.Errorf("%v, %v", got, ok)
	}
	if _, ok := KeptSum(f.File, f.info(), SumSHA512); ok {
		t.Error("taken for another method")
	}
	for _, d := range []time.Duration{time.Millisecond, -time.Hour} { // written, or an older one copied over it
		f.at(f.info().ModTime().Add(d))
		if _, ok := KeptSum(f.File, f.info(), SumMD5); ok {
			t.Errorf("taken though the file is %v younger", d)
		}
	}
}

// A time later than that of the contents is taken when nothing happened to the file since; whatever else
// stands there is no sum.
func TestKeptSumOfOthers(t *testing.T) {
	f := newKeptFile(t)
	hash := "d," + strings.Repeat("ab", 16)
	later, now := FormatTime(time.Now().Add(time.Hour)), FormatTime(f.info().ModTime())
	for _, c := range []struct {
		sum, mtime string
		want       bool
	}{
		{hash, now, true},
		{hash, now + "00", true},
		{hash, strings.TrimSuffix(now[:14]+"T", "T"), false},
		{hash, later, true},
		{hash, later[:8] + "T" + later[8:], true},
		{hash, FormatTime(f.info().ModTime().Add(10 * time.Millisecond)), false},
		{hash, "", false},
		{hash, "9", false},
		{hash, strings.Repeat("9", 3000), false},
		{"", now, false},
		{"d", now, false},
		{"d,", now, false},
		{"d,\x00\xff", now, false},
		{hash[:20], now, false},
		{strings.ToUpper(hash), now, false},
		{"d," + strings.Repeat("zz", 16), now, false},
		{hash + strings.Repeat("a", 3000), now, false},
		{"a," + strings.Repeat("ab", 16), now, false},
	} {
		if err := unix.Fsetxattr(int(f.Fd()), attrSum, []byte(c.sum), 0); err != nil {
			t.Fatal(err)
		}
		if err := unix.Fsetxattr(int(f.Fd()), attrMtime, []byte(c.mtime), 0); err != nil {
			t.Fatal(err)
		}
		if _, ok := KeptSum(f.File, f.info(), SumMD5); ok != c.want {
			t.Errorf("%.60q of %.40q: %v", c.sum, c.mtime, ok)
		}
	}
}

// What was just written is not kept: a later write could bear the same time. Nor is what is no digest, or
// where the file system has no attributes.
func TestNotKept(t *testing.T) {
	f := newKeptFile(t)
	sum := OfHash(SumMD5, NewHash(SumMD5))
	if KeepSum(f.File, f.info(), sum, f.info().ModTime().Add(time.Millisecond)) {
		t.Error("kept of a file just written")
	}
	if KeepSum(f.File, f.info(), OfName("f"), time.Now()) || KeepSum(f.File, f.info(), Fingerprint{}, time.Now()) {
		t.Error("kept what is no checksum of bytes")
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if fi, err := null.Stat(); err == nil && KeepSum(null, fi, sum, time.Now().Add(time.Hour)) {
		t.Error("kept by a device")
	}
	KeepNewSum(null, sum)
}
