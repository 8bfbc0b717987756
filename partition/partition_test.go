package partition

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

// The worked examples of the parts header: offsets, lengths and file sizes.
func TestArithmetic(t *testing.T) {
	for _, c := range []struct {
		in                     string
		offset, length, filesz int64
	}{
		{"1,12,1,0,0", 0, 12, 12},
		{"1,0,1,0,0", 0, 0, 0},
		{"i,100,3,50,0", 0, 100, 250},
		{"i,100,3,50,1", 100, 100, 250},
		{"i,100,3,50,2", 200, 50, 250},
		{"i,100,3,0,0", 0, 100, 300},
		{"i,100,3,0,2", 200, 100, 300},
		{"p,457,1,0,0", 0, 457, 457},
	} {
		b, err := Parse(c.in)
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		if b.Offset() != c.offset || b.Length() != c.length || b.FileSize() != c.filesz {
			t.Errorf("%s: offset %d length %d file %d, want %d %d %d", c.in, b.Offset(), b.Length(), b.FileSize(), c.offset, c.length, c.filesz)
		}
		if b.String() != c.in {
			t.Errorf("%s written as %s", c.in, b)
		}
	}
}

// What peers leave out or write wrongly is read as they mean it.
func TestParseLenient(t *testing.T) {
	for in, want := range map[string]string{
		"1":             "1,0,1,0,0",
		"1,12":          "1,12,1,0,0",
		"1,12,0,0":      "1,12,1,0,0",
		"1,12,1,0":      "1,12,1,0,0",
		"i,100,3,50":    "i,100,3,50,0",
		"1, 12, 1, 0,0": "1,12,1,0,0",
	} {
		b, err := Parse(in)
		if err != nil || b.String() != want {
			t.Errorf("%q: %v, %v; want %s", in, b, err, want)
		}
	}
}

// Parts that lie are refused.
func TestParseRefuses(t *testing.T) {
	for _, in := range []string{
		"", "x", "x,1,1,0,0", "1,12,1,0,0,0", "1,-1,1,0,0", "i,100,3,50,3", "i,100,3,100,0", "i,100,3,-1,0",
		"i,0,3,0,0", "i,9223372036854775807,2,0,0", "i,4611686018427387904,1000000000,0,1", "1,12,2,0,0", "1,12,1,5,0",
		"1,1e3,1,0,0", "1,99999999999999999999,1,0,0", "11,12,1,0,0",
	} {
		if b, err := Parse(in); !errors.Is(err, ErrParts) {
			t.Errorf("%q accepted as %v (%v)", in, b, err)
		}
	}
}

// blocksize 0 chooses by itself; other sizes cut what is larger.
func TestBlockSize(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		size, ask int64
		want      string
	}{
		{250, 100, "i,100,3,50,0"},
		{300, 100, "i,100,3,0,0"},
		{100, 100, "1,100,1,0,0"},
		{250, 1, "1,250,1,0,0"},
		{50 * mib, 0, "1,52428800,1,0,0"},
		{60 * mib, 0, "i,20971520,3,0,0"},
		{600 * mib, 0, "i,62914560,10,0,0"},
		{6144 * mib, 0, "i,524288000,13,150994944,0"},
	} {
		if got := Cut(Inplace, c.size, BlockSize(c.size, c.ask)).String(); got != c.want {
			t.Errorf("%d bytes, blocksize %d: %s, want %s", c.size, c.ask, got, c.want)
		}
	}
}

// However a file is cut, its blocks follow each other without gap or overlap
// and end at its end.
func TestCutCovers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(0, 1<<20).Draw(t, "size")
		bs := rapid.Int64Range(1, 5000).Draw(t, "blocksize")
		m := rapid.SampledFrom([]Method{Whole, Inplace, Parted}).Draw(t, "method")
		b := Cut(m, size, bs)
		if size == 0 && m == Parted {
			return // an empty file has no part files
		}
		var at int64
		for ; b.Number < b.Count; b.Number++ {
			if err := b.Check(); err != nil {
				t.Fatal(err)
			}
			if b.Offset() != at {
				t.Fatalf("%v begins at %d, want %d", b, b.Offset(), at)
			}
			at += b.Length()
			if back, err := Parse(b.String()); err != nil || back != b {
				t.Fatalf("%v read back as %v, %v", b, back, err)
			}
		}
		if b.Number = 0; at != size || b.FileSize() != size {
			t.Fatalf("%v covers %d bytes of %d", b, at, size)
		}
	})
}

// A size that fills 63 bits is cut without overflow, and no file into more blocks than can be kept account of.
func TestBlockSizeBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(0, 1<<62).Draw(t, "size")
		for _, bs := range []int64{BlockSize(size, rapid.Int64Min(0).Draw(t, "blocksize")), AutoSize(size, rapid.Int64Min(1).Draw(t, "unit"))} {
			b := Cut(Inplace, size, bs)
			if err := b.Check(); err != nil || b.Count > MaxBlocks || b.FileSize() != size {
				t.Fatalf("%d cut by %d: %v, %v", size, bs, b, err)
			}
		}
	})
}

// What is to suit v02 never has a last block as long as the others.
func TestUneven(t *testing.T) {
	for _, c := range [][3]int64{{300, 100, 99}, {250, 100, 100}, {60 << 20, 20 << 20, 20<<20 - 1}, {12, 2, 5}, {12, 4, 5}, {12, 0, 0}} {
		if got := Uneven(c[0], c[1]); got != c[2] {
			t.Errorf("%d in blocks of %d: %d, want %d", c[0], c[1], got, c[2])
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(0, 1<<40).Draw(t, "size")
		b := Cut(Inplace, size, Uneven(size, BlockSize(size, rapid.Int64Range(0, 1<<41).Draw(t, "blocksize"))))
		if b.Count > 1 && b.Remainder == 0 || b.Count > MaxBlocks || b.FileSize() != size {
			t.Fatalf("%d bytes: %v", size, b)
		}
	})
}

// Each block has its turn once, at random too.
func TestNumbers(t *testing.T) {
	b := Block{Method: Inplace, Size: 10, Count: 50}
	for _, random := range []bool{false, true} {
		seen, order := map[int64]bool{}, true
		for n := range b.Numbers(random) {
			order = order && n == int64(len(seen))
			seen[n] = true
		}
		if len(seen) != 50 || !seen[0] || !seen[49] || order == random {
			t.Errorf("random %v: %d numbers, in order %v", random, len(seen), order)
		}
	}
}

func TestPartNames(t *testing.T) {
	b := Block{Parted, 100, 3, 50, 1}
	if got := PartName("p250", b, "d"); got != "p250.100.3.50.1.d.Part" {
		t.Errorf("part name %s", got)
	}
	file, back, sum, err := ParsePartName("a.b.100.3.50.1.d.Part", 100)
	if err != nil || file != "a.b" || back != b || sum != "d" {
		t.Errorf("%q %v %q %v", file, back, sum, err)
	}
	for _, c := range []struct {
		name   string
		length int64
	}{
		{"x.Part", 1}, {"p.100.3.50.1.d", 100}, {"p.100.3.50.1.d.Part", 99}, {"p.100.3.50.3.d.Part", 100},
		{"p.a.3.50.1.d.Part", 100}, {".100.3.50.1.d.Part", 100}, {"100.3.50.1.d.Part", 100}, {"p.100.3.50.1..Part", 100}, {"p.100.3.100.1.d.Part", 100},
		{"p.+100.3.50.1.d.Part", 100}, {"p.0100.3.50.1.d.Part", 100}, {"p.100.3.50.-1.d.Part", 100}, {"p.-100.3.50.1.d.Part", -100},
		{"p.100.3.50.1.d.Part.Part", 100}, {"p.9223372036854775807.2.0.0.d.Part", 9223372036854775807}, {"p.100.3.50.99999999999999999999.d.Part", 100},
	} {
		if _, _, _, err := ParsePartName(c.name, c.length); !errors.Is(err, ErrParts) {
			t.Errorf("%s of %d bytes accepted (%v)", c.name, c.length, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"1,12,1,0,0", "i,100,3,50,2", "p,457,1,0,0", "1", "x,y", "i,9223372036854775807,2,0,0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b, err := Parse(s)
		if err != nil {
			return
		}
		if b.Offset() < 0 || b.Length() < 0 || b.Offset()+b.Length() > b.FileSize() {
			t.Fatalf("%q: block outside its file: %+v", s, b)
		}
		if back, err := Parse(b.String()); err != nil || back != b {
			t.Fatalf("%q: %v read back as %v, %v", s, b, back, err)
		}
	})
}
