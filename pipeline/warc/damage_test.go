package warc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// several are responses with bodies that compress a little, some large enough for blocks
// of more than one kind.
func several(n int) []*Record {
	r := rand.New(rand.NewPCG(1, 2))
	var out []*Record
	for i := range n {
		body := make([]byte, 40+i*90)
		for j := range body {
			body[j] = "abcdefgh <>\n0123"[r.IntN(16)]
		}
		out = append(out, exchange(V10, fmt.Sprintf("http://a.example/%d", i), string(body)))
	}
	return out
}

// damaged reads a file of n records in which one place is damaged: nothing that is not what was
// written passes for sound, and at most lost records are missing.
func damaged(t *testing.T, what string, in io.Reader, original []seen, lost int) {
	t.Helper()
	all, faults := readAll(t, in, ReadOptions{})
	known := make(map[string]string)
	for _, s := range original {
		known[s.uri] = s.block
	}
	sound := 0
	for _, s := range all {
		if s.err != nil {
			continue
		}
		if block, ok := known[s.uri]; !ok || block != s.block {
			t.Errorf("%s: %s passes with other bytes", what, s.uri)
		}
		sound++
	}
	if sound < len(original)-lost {
		t.Errorf("%s: %d of %d records are lost: %v", what, len(original)-sound, len(original), faults)
	}
	if sound < len(original) && len(faults) == 0 {
		t.Errorf("%s: %d records are missing in silence", what, len(original)-sound)
	}
}

// A bit that flips, anywhere, costs at most its own record.
func TestBitFlips(t *testing.T) {
	for _, plain := range []bool{false, true} {
		file, places := written(t, WriteOptions{Plain: plain}, several(5)...)
		original, _ := readAll(t, bytes.NewReader(file), ReadOptions{})
		step := 37
		if os.Getenv("SRPUMP_LONG") == "1" {
			step = 1
		}
		for bit := 0; bit < 8*len(file); bit += step {
			if plain && inURI(file, places, bit/8) {
				continue // nothing seals the head of an uncompressed record
			}
			bad := bytes.Clone(file)
			bad[bit/8] ^= 1 << (bit % 8)
			damaged(t, fmt.Sprintf("plain %v, bit %d", plain, bit), bytes.NewReader(bad), original, 1)
			if bit%(16*step) == 0 {
				damaged(t, fmt.Sprintf("pipe, plain %v, bit %d", plain, bit), pipe{bytes.NewReader(bad)}, original, 1)
			}
		}
	}
}

// inURI tells whether a byte is of the head of a record.
func inURI(file []byte, places []Place, at int) bool {
	for _, p := range places {
		if off := at - int(p.Offset); off >= 0 && off < int(p.Length) {
			return off < bytes.Index(file[p.Offset:], []byte("\r\n\r\n"))
		}
	}
	return false
}

// Stretches that are overwritten, cut out or put in cost the records they touch.
func TestStretches(t *testing.T) {
	file, places := written(t, WriteOptions{}, several(6)...)
	original, _ := readAll(t, bytes.NewReader(file), ReadOptions{})
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 60 {
		at, n := r.IntN(len(file)), 1+r.IntN(300)
		end := min(at+n, len(file))
		touched := 0
		for _, p := range places {
			if p.Offset < int64(end) && p.Offset+p.Length > int64(at) {
				touched++
			}
		}
		junk := make([]byte, end-at)
		for j := range junk {
			junk[j] = byte(r.Uint32())
		}
		over := append(append(bytes.Clone(file[:at]), junk...), file[end:]...)
		damaged(t, fmt.Sprintf("%d: overwritten %d-%d", i, at, end), bytes.NewReader(over), original, touched)
		cut := append(bytes.Clone(file[:at]), file[end:]...)
		damaged(t, fmt.Sprintf("%d: cut out %d-%d", i, at, end), bytes.NewReader(cut), original, touched)
		into := append(append(bytes.Clone(file[:at]), junk...), file[at:]...)
		damaged(t, fmt.Sprintf("%d: put in at %d", i, at), bytes.NewReader(into), original, 1)
	}
}

// Whoever reads a block to its end learns that it is not what was sealed.
func TestBlockTellsOfDamage(t *testing.T) {
	file, _ := written(t, WriteOptions{Plain: true}, exchange(V10, "http://a.example/", "whole"), exchange(V10, "http://a.example/2", "second"))
	file = bytes.Replace(file, []byte("whole"), []byte("other"), 1)
	all, faults := readAll(t, bytes.NewReader(file), ReadOptions{})
	var f *Fault
	if len(all) != 2 || !errors.As(all[0].err, &f) || f.Kind != Digest || all[1].err != nil || len(faults) != 1 {
		t.Errorf("%+v, %v", all, faults)
	}
	if all, faults := readAll(t, bytes.NewReader(file), ReadOptions{Unverified: true}); all[0].err != nil || len(faults) > 0 {
		t.Errorf("unverified: %+v, %v", all, faults)
	}
}

// A Content-Length that is wrong costs its record and no other, in members and without.
func TestWrongLength(t *testing.T) {
	for _, length := range []string{"5", "60", "70000", "x", "-1", "", "99999999999999999999"} {
		text := func(uri, length string) string {
			return "WARC/1.0\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:x:1>\r\nWARC-Date: 2023-11-14T22:13:20Z\r\nWARC-Target-URI: " +
				uri + "\r\nContent-Length: " + length + "\r\n\r\nten bytes.\r\n\r\n"
		}
		for _, file := range []string{
			text("u:1", "10") + text("u:2", length) + text("u:3", "10") + text("u:4", "10"),
			zipped(text("u:1", "10")) + zipped(text("u:2", length)) + zipped(text("u:3", "10")) + zipped(text("u:4", "10")),
			zipped(text("u:1", "10") + text("u:2", length) + text("u:3", "10") + text("u:4", "10")),
		} {
			all, faults := readAll(t, strings.NewReader(file), ReadOptions{})
			found := ""
			for _, s := range all {
				if s.err == nil && s.block == "ten bytes." {
					found += s.uri
				}
			}
			inOne := strings.Count(file, gzipMagic) == 1
			if found != "u:1u:3u:4" && !(inOne && len(faults) > 0) || damageIn(faults) == 0 {
				t.Errorf("length %q, member %v: found %s, %v", length, file[0] != 'W', found, faults)
			}
		}
	}
}

func damageIn(faults []*Fault) (n int) {
	for _, f := range faults {
		if f.Damage() {
			n++
		}
	}
	return n
}

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, text)
	z.Close()
	return b.String()
}

// Recovery keeps every record that is whole, wherever the file was cut, and what it leaves is
// a sound file; a second one changes nothing.
func TestRecoverAtEveryByte(t *testing.T) {
	for _, plain := range []bool{false, true} {
		file, places := written(t, WriteOptions{Plain: plain}, New(V10, Resource, "u:1", at).With("one"), New(V10, Resource, "u:2", at).With("two"))
		name := t.TempDir() + "/a.warc"
		for n := range len(file) + 1 {
			if err := os.WriteFile(name, file[:n], 0o600); err != nil {
				t.Fatal(err)
			}
			checkRecovery(t, name, file, places, n, plain)
		}
	}
}

func checkRecovery(t *testing.T, name string, file []byte, places []Place, n int, plain bool) {
	t.Helper()
	kept, end := 0, 0
	for _, p := range places {
		whole := int(p.Offset + p.Length)
		if plain && n >= whole-4 || n >= whole {
			kept, end = kept+1, whole
		}
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for range 2 {
		got, err := Truncate(f, ReadOptions{}, false)
		if kept == 0 {
			end = n
			if !errors.Is(err, ErrNoRecord) {
				t.Fatalf("cut at %d: %v", n, err)
			}
		} else if err != nil || got.Kept != kept || got.KeptBytes != int64(end) {
			t.Fatalf("cut at %d, plain %v: %+v, %v", n, plain, got, err)
		}
	}
	left, err := os.ReadFile(name)
	if err != nil || !bytes.Equal(left, file[:end]) {
		t.Fatalf("cut at %d, plain %v: %d bytes left, not %d: %v", n, plain, len(left), end, err)
	}
}

// Whatever bit has flipped, recovery keeps every record that is still whole, changes no byte of
// what it keeps, and leaves a file alone to which it has nothing to do.
func TestRecoverBitFlips(t *testing.T) {
	name := t.TempDir() + "/a.warc"
	for _, plain := range []bool{false, true} {
		file, _ := written(t, WriteOptions{Plain: plain}, several(3)...)
		for bit := 0; bit < 8*len(file); bit += 211 {
			bad := bytes.Clone(file)
			bad[bit/8] ^= 1 << (bit % 8)
			before, _ := readAll(t, bytes.NewReader(bad), ReadOptions{})
			if err := os.WriteFile(name, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := os.OpenFile(name, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Truncate(f, ReadOptions{}, false)
			left, _ := os.ReadFile(name)
			after, _ := readAll(t, bytes.NewReader(left), ReadOptions{})
			f.Close()
			if err != nil || got.Kept != soundOf(before) || soundOf(after) != got.Kept || !bytes.HasPrefix(bad, left[:max(0, len(left)-4)]) {
				t.Errorf("plain %v, bit %d: %+v of %d, %v", plain, bit, got, soundOf(before), err)
			}
		}
	}
}

func soundOf(all []seen) (n int) {
	for _, s := range all {
		if s.err == nil {
			n++
		}
	}
	return n
}

// A last record whose digest alone is wrong was written to its end, and is not cut away.
func TestRecoverKeepsWhatIsAltered(t *testing.T) {
	file, _ := written(t, WriteOptions{Plain: true}, exchange(V10, "u:1", "first"), exchange(V10, "u:2", "whole"))
	file = bytes.Replace(file, []byte("whole"), []byte("other"), 1)
	name := t.TempDir() + "/a.warc"
	if err := os.WriteFile(name, file, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := Truncate(f, ReadOptions{}, false)
	left, _ := os.ReadFile(name)
	if err != nil || got.Kept != 1 || got.Damaged != 1 || !bytes.Equal(left, file) {
		t.Errorf("%+v, %v, %d bytes of %d", got, err, len(left), len(file))
	}
}

// A copy has all whole records, also those behind damage, and of a file with one member.
func TestRecoverCopy(t *testing.T) {
	file, places := written(t, WriteOptions{}, several(4)...)
	bad := bytes.Clone(file)
	bad[places[1].Offset+40] ^= 0x10
	bad = bad[:len(bad)-3]
	var out bytes.Buffer
	got, err := Copy(&out, bytes.NewReader(bad), ReadOptions{})
	want := places[0].Length + places[2].Length
	if err != nil || got.Kept != 2 || got.Damaged != 2 || got.DroppedBytes != int64(len(bad))-want {
		t.Fatalf("%+v, %v", got, err)
	}
	all, faults := readAll(t, &out, ReadOptions{})
	if len(faults) > 0 || len(all) != 2 || all[0].uri != "http://a.example/0" || all[1].uri != "http://a.example/2" {
		t.Errorf("%+v, %v", all, faults)
	}
	plain, _ := written(t, WriteOptions{Plain: true}, several(4)...)
	one := zipped(string(plain))
	out.Reset()
	if got, err = Copy(&out, strings.NewReader(one[:len(one)/2]), ReadOptions{}); err != nil || got.Kept == 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	if all, faults := readAll(t, bytes.NewReader(out.Bytes()), ReadOptions{}); len(all) != got.Kept || len(faults) > 0 {
		t.Errorf("%d records, %v", len(all), faults)
	}
}
