package warc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

const plainRecord = "WARC/1.0\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:x:1>\r\nWARC-Date: 2023-11-14T22:13:20Z\r\n" +
	"WARC-Target-URI: u:1\r\nContent-Length: 10\r\n\r\nten bytes.\r\n\r\n"

// What is common in the wild is read, and told of once, and is no damage.
func TestUnusual(t *testing.T) {
	for what, file := range map[string]string{
		"lines end in LF":                        strings.ReplaceAll(plainRecord, "\r\n", "\n"),
		"folded fields":                          strings.Replace(plainRecord, "u:1", "\r\n  u:1", 1),
		"no two line ends":                       strings.TrimSpace(plainRecord),
		"several records in one":                 zipped(plainRecord + plainRecord),
		"unknown version \"WARC/1.7\"":           strings.Replace(plainRecord, "1.0", "1.7", 1),
		"no WARC-Date":                           strings.Replace(plainRecord, "WARC-Date: 2023-11-14T22:13:20Z\r\n", "", 1),
		"WARC-Date is \"20231114\"":              strings.Replace(plainRecord, "2023-11-14T22:13:20Z", "20231114", 1),
		"\"urn:x:1\" has no brackets":            strings.Replace(plainRecord, "<urn:x:1>", "urn:x:1", 1),
		"no WARC-Target-URI":                     strings.Replace(plainRecord, "WARC-Target-URI", "X-Target-URI", 1),
		"a line without a colon":                 strings.Replace(plainRecord, "WARC-Type", "nothing\r\nWARC-Type", 1),
		"a field is called \"WARC-Type \"":       strings.Replace(plainRecord, "WARC-Type", "WARC-Type ", 1),
		"only NULs and line ends":                plainRecord + strings.Repeat("\x00", 500),
		"names no algorithm":                     strings.Replace(plainRecord, "WARC-Type", "WARC-Block-Digest: abc\r\nWARC-Type", 1),
		"WARC-Payload-Digest \"sha1:xyz\" is no": strings.Replace(plainRecord, "WARC-Type", "WARC-Payload-Digest: sha1:xyz\r\nWARC-Type", 1),
	} {
		all, faults := readAll(t, strings.NewReader(file), ReadOptions{})
		if len(all) == 0 || all[0].block != "ten bytes." || all[0].err != nil || damageIn(faults) > 0 || len(faults) != 1 || !strings.Contains(faults[0].Reason, what) {
			t.Errorf("%s: %+v, %v", what, all, faults)
		}
	}
	for _, file := range []string{
		strings.ToLower(plainRecord[8:]), strings.ToUpper(plainRecord[8:28]) + plainRecord[28:],
	} {
		if all, faults := readAll(t, strings.NewReader("WARC/1.0"+file), ReadOptions{}); len(all) != 1 || damageIn(faults) > 0 {
			t.Errorf("case of names: %v, %v", all, faults)
		}
	}
}

// Files put together of several, compressed and not, are read through; each offset is right.
func TestConcatenated(t *testing.T) {
	one, two := zipped(plainRecord), plainRecord
	file := one + two + one + two + two
	all, faults := readAll(t, strings.NewReader(file), ReadOptions{})
	var offsets []int64
	for _, s := range all {
		offsets = append(offsets, s.offset)
	}
	if len(faults) > 0 || len(all) != 5 || offsets[2] != int64(len(one)+len(two)) || all[4].end != int64(len(file)) {
		t.Errorf("%v, %v", offsets, faults)
	}
}

// A page that speaks of WARC files, or holds one, is a page.
func TestWARCInAPage(t *testing.T) {
	nested, _ := written(t, WriteOptions{}, several(2)...)
	body := "\r\n\r\n" + plainRecord + string(nested) + plainRecord
	for _, plain := range []bool{false, true} {
		file, _ := written(t, WriteOptions{Plain: plain}, exchange(V10, "u:page", body), exchange(V10, "u:next", "x"))
		all, faults := readAll(t, bytes.NewReader(file), ReadOptions{})
		if len(all) != 2 || len(faults) > 0 || all[1].uri != "u:next" {
			t.Errorf("plain %v: %d records, %v", plain, len(all), faults)
		}
	}
}

// Heads, fields and blocks beyond the limits cost their record, and no memory.
func TestLimitsOfReader(t *testing.T) {
	for what, first := range map[string]string{
		"head":       strings.Replace(plainRecord, "u:1", strings.Repeat("u", 3000), 1),
		"no line":    "WARC/1.0 " + strings.Repeat("x", 200_000),
		"fields":     strings.Replace(plainRecord, "WARC-Type", strings.Repeat("A: b\r\n", 60)+"WARC-Type", 1),
		"block":      strings.NewReplacer("10", "5000", "ten bytes.", strings.Repeat("x", 5000)).Replace(plainRecord),
		"huge block": strings.Replace(plainRecord, ": 10", ": 9223372036854775807", 1),
	} {
		for _, file := range []string{first + "\r\n\r\n" + plainRecord, zipped(first) + zipped(plainRecord)} {
			all, faults := readAll(t, strings.NewReader(file), ReadOptions{MaxHead: 2000, MaxFields: 50, MaxBlock: 4000})
			if len(all) != 1 || all[0].uri != "u:1" || all[0].err != nil || len(faults) != 1 || faults[0].Kind != TooLarge && faults[0].Kind != Head {
				t.Errorf("%s: %d records, %v", what, len(all), faults)
			}
		}
	}
}

// zeros is that many bytes.
type zeros int64

func (z *zeros) Read(p []byte) (int, error) {
	n := min(int64(len(p)), int64(*z))
	clear(p[:n])
	*z -= zeros(n)
	if n == 0 {
		return 0, io.EOF
	}
	return int(n), nil
}

// A record larger than memory is written, read, verified and recovered in little of it.
func TestMemory(t *testing.T) {
	const size = 32 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	from := zeros(size)
	r := New(V10, Resource, "u:1", at)
	r.Block = &from
	file, _ := written(t, WriteOptions{Level: 1, TempDir: t.TempDir()}, r, exchange(V10, "u:2", "x"))
	reader := NewReader(pipe{bytes.NewReader(file)}, ReadOptions{Report: func(f *Fault) { t.Error(f) }})
	for _, want := range []int64{size, int64(len(fmt.Sprintf(page, 1, "x")))} {
		if rec, err := reader.Next(); err != nil || rec.Size != want {
			t.Fatalf("%+v, %v", rec, err)
		}
	}
	if got, err := Copy(io.Discard, bytes.NewReader(file), ReadOptions{}); err != nil || got.Kept != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > size/2 {
		t.Errorf("%d bytes allocated for a block of %d", used, size)
	}
}

// An error of the disk is no damage of the file: it ends the reading, as what it is.
func TestInputFails(t *testing.T) {
	gone := errors.New("input/output error")
	for _, plain := range []bool{false, true} {
		file, places := written(t, WriteOptions{Plain: plain}, several(3)...)
		for n := range len(file) {
			if n%97 != 0 && n != int(places[1].Offset) {
				continue
			}
			r := NewReader(io.MultiReader(bytes.NewReader(file[:n]), iotest.ErrReader(gone)), ReadOptions{Report: func(f *Fault) {
				t.Errorf("at %d: %v", n, f)
			}})
			var err error
			for err == nil {
				_, err = r.Next()
			}
			if !errors.Is(err, gone) {
				t.Errorf("at %d: %v", n, err)
			}
		}
	}
}

// What is no WARC file at all is garbage, told once, and an empty file is empty.
func TestNoWARC(t *testing.T) {
	for _, file := range []string{"PK\x03\x04 something", zipped("a text"), strings.Repeat(gzipMagic, 1000), "\x1f", "WAR"} {
		all, faults := readAll(t, strings.NewReader(file), ReadOptions{})
		if len(all) > 0 || damageIn(faults) != 1 {
			t.Errorf("%.20q: %v, %v", file, all, faults)
		}
	}
	if all, faults := readAll(t, strings.NewReader(""), ReadOptions{}); len(all)+len(faults) > 0 {
		t.Errorf("%v, %v", all, faults)
	}
}

// In a pipe, damage that was noticed further behind its beginning than is kept costs no more
// than what is between.
func TestLongDamageInAPipe(t *testing.T) {
	noise := make([]byte, window*2)
	for i := range noise {
		noise[i] = byte(i>>3 ^ i>>11 ^ i)
	}
	first, _ := written(t, WriteOptions{Plain: true}, New(V10, Resource, "u:1", at).With(string(noise)))
	rest, _ := written(t, WriteOptions{Plain: true}, exchange(V10, "u:2", "x"), exchange(V10, "u:3", "x"))
	file := bytes.Replace(append(first, rest...), []byte("Content-Length: 1"), []byte("Content-Length: 9"), 1)
	all, faults := readAll(t, pipe{bytes.NewReader(file)}, ReadOptions{})
	if len(all) != 3 || all[2].uri != "u:3" || all[2].err != nil || damageIn(faults) != 1 {
		t.Errorf("%d records, %v", len(all), faults)
	}
}

// FuzzReader: whatever a file holds, reading ends, and what passes for sound is what its
// digests say.
func FuzzReader(f *testing.F) {
	file, places := written(f, WriteOptions{}, several(2)...)
	f.Add(file)
	f.Add(file[:len(file)-5])
	f.Add(append(bytes.Clone(file[places[1].Offset:]), file...))
	plain, _ := written(f, WriteOptions{Plain: true}, few(V11)...)
	f.Add(plain)
	f.Add([]byte(strings.ReplaceAll(plainRecord, "\r\n", "\n")))
	f.Add([]byte(zipped(plainRecord + plainRecord)))
	f.Add([]byte(strings.Repeat(gzipMagic, 20)))
	f.Fuzz(func(t *testing.T, file []byte) {
		limits := ReadOptions{MaxHead: 4 << 10, MaxFields: 64, MaxBlock: 1 << 20}
		var counts [2]int
		for i, in := range []io.Reader{bytes.NewReader(file), pipe{bytes.NewReader(file)}} {
			r := NewReader(in, limits)
			end := int64(-1)
			for {
				rec, err := r.Next()
				if err != nil {
					break
				}
				if rec.Offset < end || rec.Offset > int64(len(file)) {
					t.Fatalf("a record at %d, behind %d", rec.Offset, end)
				}
				end = rec.Offset
				if body, err := rec.Payload(); err == nil {
					io.Copy(io.Discard, io.LimitReader(body, 1<<20))
				}
				counts[i]++
			}
		}
		if counts[0] != counts[1] {
			t.Fatalf("%d records in a file, %d in a pipe", counts[0], counts[1])
		}
		var copied bytes.Buffer
		if got, err := Copy(&copied, bytes.NewReader(file), limits); err == nil {
			again, faults := readAll(t, &copied, limits)
			if len(again) != got.Kept || damageIn(faults) > 0 {
				t.Fatalf("kept %d, copied %d: %v", got.Kept, len(again), faults)
			}
		}
	})
}
