package poll

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

func at(s string) time.Time {
	t, err := time.Parse("2006-01-02 15:04:05", s)
	if err != nil {
		panic(err)
	}
	return t
}

func options() Options { return Options{Now: at("2026-11-21 11:00:00")} }

// short is an entry as the tests write it.
func short(e Entry) string {
	kind := "f"
	if e.Dir {
		kind = "d"
	}
	if e.Link != "" {
		kind = "l(" + e.Link + ")"
	}
	size := fmt.Sprint(e.Size)
	if e.Approx {
		size = "~" + size
	}
	when := "-"
	if !e.ModTime.IsZero() {
		when = e.ModTime.Format("2006-01-02T15:04:05") + "+" + e.Precision.String()
	}
	mode := "-"
	if e.PermKnown {
		mode = fmt.Sprintf("%o", e.Mode)
	}
	return fmt.Sprintf("%s %s %s %s %q", kind, size, when, mode, e.Name)
}

// Every line of ls, DOS and MLSD we know.
func TestLine(t *testing.T) {
	for line, want := range map[string]string{
		// ls -l
		"-rw-r--r--   1 alice  users     1234 Nov 21 10:00 foo.txt":           `f 1234 2026-11-21T10:00:00+1m0s 644 "foo.txt"`,
		"-rw-r-----   1 alice  users     1234 Nov 21  2019 old file  x.txt":   `f 1234 2019-11-21T00:00:00+24h0m0s 640 "old file  x.txt"`,
		"-rw-r--r--   1 alice  users     1234 Dec 24 10:00 last year":         `f 1234 2025-12-24T10:00:00+1m0s 644 "last year"`,
		"-rw-r--r--   1 alice  users     1234 Nov 22 09:00 tomorrow":          `f 1234 2026-11-22T09:00:00+1m0s 644 "tomorrow"`,
		"-rw-r--r--   1 alice  users     1234 Nov 23 10:00 two days ahead":    `f 1234 2025-11-23T10:00:00+1m0s 644 "two days ahead"`,
		"-rw-r--r--   1 alice  users     1234 Feb 29 10:00 leap":              `f 1234 2024-02-29T10:00:00+1m0s 644 "leap"`,
		"-rw-r--r--   1 alice  users     1234 Nov 21 10:00  leading blank":    `f 1234 2026-11-21T10:00:00+1m0s 644 " leading blank"`,
		"-rw-r--r--   1 alice  users     1234 21 Nov 10:00 day first":         `f 1234 2026-11-21T10:00:00+1m0s 644 "day first"`,
		"-rw-r--r--   1 alice            1234 Nov 21 10:00 no group":          `f 1234 2026-11-21T10:00:00+1m0s 644 "no group"`,
		"-rw-r--r--   1 Domain Users staff 12 Nov 21 10:00 blank in the user": `f 12 2026-11-21T10:00:00+1m0s 644 "blank in the user"`,
		"-rw-r--r--+  1 alice  users     1234 2026-11-21 10:00 iso":           `f 1234 2026-11-21T10:00:00+1m0s 644 "iso"`,
		"-rw-r--r--  1 a u 7 2026-11-21 10:00:01.000000000 +0000 full":        `f 7 2026-11-21T10:00:01+1s 644 "full"`,
		"-rw-r--r--   1 alice  users     1234 Nov 21 10:00 Nov 21 10:00 x":    `f 1234 2026-11-21T10:00:00+1m0s 644 "Nov 21 10:00 x"`,
		"drwxr-sr-t   2 alice  users     4096 Nov 21 10:00 sub":               `d -1 2026-11-21T10:00:00+1m0s 755 "sub"`,
		"lrwxrwxrwx   1 alice  users        7 Nov 21 10:00 a -> b/c":          `l(b/c) -1 2026-11-21T10:00:00+1m0s - "a"`,
		"-rw-r--r--   1 alice  users     1234 Nov 21 10:00 not -> a link":     `f 1234 2026-11-21T10:00:00+1m0s 644 "not -> a link"`,
		"-rw-r--r--   1 alice  users    1 Jan  1  1970 epoch":                 `f 1 1970-01-01T00:00:00+24h0m0s 644 "epoch"`,
		"-rw-r--r-- 1 a u 99999999999999999999 Nov 21 10:00 immense":          "unknown",
		"-rw-r--r-- 1 a u 12 Nov 31 10:00 no such day":                        "unknown",
		"-rw-r--r-- 1 a u 12 Nov 21 25:00 no such hour":                       "unknown",
		"-rw-r--r-- 1 a u 12 Nov 21 10:00":                                    "unknown",
		"crw-rw-rw-   1 root   root      1, 3 Nov 21 10:00 null":              "other",
		"srw-rw-rw-   1 root   root         0 Nov 21 10:00 socket":            "other",
		"hello world": "unknown",
		// DOS
		"11-21-26  10:00AM       <DIR>          sub dir":     `d -1 2026-11-21T10:00:00+1m0s - "sub dir"`,
		"11-21-2026  01:05PM               1234 a b.txt":     `f 1234 2026-11-21T13:05:00+1m0s - "a b.txt"`,
		"2026-11-21  13:05                 1234 x":           `f 1234 2026-11-21T13:05:00+1m0s - "x"`,
		"11-21-26  10:00AM       -12            negative":    "unknown",
		"13-41-26  10:00AM       12             no such day": "unknown",
		"11-21-26  10:00AM       <JUNCTION>     elsewhere":   `l(?) -1 2026-11-21T10:00:00+1m0s - "elsewhere"`,
		// MLSD
		"type=file;size=1234;modify=20261121100000;perm=r;UNIX.mode=0644; a b": `f 1234 2026-11-21T10:00:00+1s 644 "a b"`,
		"Type=file;Size=1;Modify=20261121100000.500;Perm=awr; x":               `f 1 2026-11-21T10:00:00+1ms - "x"`,
		"type=file;size=1;perm=w;UNIX.mode=0644; not for us":                   `f 1 - 0 "not for us"`,
		"type=dir;sizd=4096;modify=20261121100000;perm=el; sub":                `d -1 2026-11-21T10:00:00+1s - "sub"`,
		"type=OS.unix=slink:/etc/passwd;size=1; ln":                            `l(/etc/passwd) -1 - - "ln"`,
		"type=cdir;modify=20261121100000; .":                                   "other",
		"type=file;size=-5;modify=yesterday; odd":                              `f -1 - - "odd"`,
	} {
		got := "unknown"
		switch e, v := ParseLine(line, options()); v {
		case Listed:
			got = short(e)
		case Other:
			got = "other"
		}
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", line, got, want)
		}
	}
}

// Dates are of the zone of the server; the column of the name can be told.
func TestLineOptions(t *testing.T) {
	zone := time.FixedZone("EST", -5*3600)
	e, _ := ParseLine("-rw-r--r-- 1 a u 7 Nov 21 05:00 x y", Options{Now: options().Now, Zone: zone})
	if !e.ModTime.Equal(at("2026-11-21 10:00:00")) {
		t.Error(e.ModTime)
	}
	e, _ = ParseLine("-rw-r--r-- 1 a u 7 Nov 21 05:00 junk the name", Options{Now: options().Now, NameColumn: 9})
	if e.Name != "the name" {
		t.Errorf("%q", e.Name)
	}
}

// The same file listed half a year later, with another form of its date, has not changed; one
// of another size or day has.
func TestSame(t *testing.T) {
	parse := func(now, line string) Entry {
		e, v := ParseLine(line, Options{Now: at(now)})
		if v != Listed {
			t.Fatal(line)
		}
		return e
	}
	recent := parse("2026-11-21 11:00:00", "-rw-r--r-- 1 a u 7 Nov 21 10:00 x")
	for line, same := range map[string]bool{
		"-rw-r--r-- 1 a u 7 Nov 21  2026 x": true,
		"-rw-r--r-- 1 a u 7 Nov 22  2026 x": false,
		"-rw-r--r-- 1 a u 7 Nov 20  2026 x": false,
		"-rw-r--r-- 1 a u 7 Nov 21  2025 x": false,
		"-rw-r--r-- 1 a u 8 Nov 21  2026 x": false,
		"-rw-r--r-- 1 a u 7 Nov 21 10:01 x": false,
	} {
		old := parse("2027-10-01 00:00:00", line)
		if recent.Same(old) != same || old.Same(recent) != same {
			t.Errorf("%s: same is %v", line, recent.Same(old))
		}
	}
	if f := parse("2027-10-01 00:00:00", "-rw-r--r-- 1 a u 7 Nov 21  2026 x").Finer(recent); f.ModTime != recent.ModTime || f.Precision != time.Minute {
		t.Error("the finer time is not kept")
	}
	// Seen from each day of two years, a file keeps its time.
	for now := at("2026-11-21 11:00:00"); now.Before(at("2027-11-19 00:00:00")); now = now.Add(24 * time.Hour) {
		if e, _ := ParseLine("-rw-r--r-- 1 a u 7 Nov 21 10:00 x", Options{Now: now}); !e.Same(recent) {
			t.Fatalf("on %v it is of %v", now, e.ModTime)
		}
	}
}

func readLines(t *testing.T, text string) ([]Entry, Skipped) {
	t.Helper()
	var out []Entry
	sk, err := Lines(strings.NewReader(text), options(), func(e Entry) error { out = append(out, e); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return out, sk
}

// What is no line, and names that would leave the directory, are counted and left out.
func TestHostileLines(t *testing.T) {
	const ls = "-rw-r--r-- 1 a u 7 Nov 21 10:00 "
	text := "total 12\r\n" + ls + ".\n" + ls + "..\n" + ls + "../etc/passwd\n" + ls + "/etc/passwd\n" + ls + "a\x1b[2Jb\n" +
		ls + "nul\x00\n" + ls + strings.Repeat("n", 300) + "\n\x00\x01\x02\xff\xfe\n" + strings.Repeat("x", 100_000) + "\n\n" + ls + "good\r\n" + ls + "last"
	got, sk := readLines(t, text)
	if len(got) != 2 || got[0].Name != "good" || got[1].Name != "last" {
		t.Errorf("got %v", got)
	}
	if sk.Refused != 5 || sk.Unknown != 2 || sk.First != `"../etc/passwd"` {
		t.Errorf("skipped %+v", sk)
	}
}

// repeated gives a line n times.
type repeated struct {
	line []byte
	n    int
	rest []byte
}

func (r *repeated) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		if r.n == 0 {
			return 0, io.EOF
		}
		r.n--
		r.rest = r.line
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// A million lines take no room, and more than the limit are an error.
func TestManyLines(t *testing.T) {
	line := bytes.Repeat([]byte("-rw-r--r-- 1 a u 7 Nov 21 10:00 x\n"), 1000)
	var n int
	count := func(Entry) error { n++; return nil }
	if _, err := Lines(&repeated{line: line, n: 1000}, options(), count); err != nil || n != 1_000_000 {
		t.Errorf("%d entries, %v", n, err)
	}
	r := reading{yield: count, n: MaxEntries}
	if err := r.give(Entry{Name: "one more"}); !errors.Is(err, ErrTooMany) {
		t.Error(err)
	}
}
