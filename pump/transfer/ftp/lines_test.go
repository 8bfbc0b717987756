package ftp

import (
	"fmt"
	"testing"
	"time"
)

// Listings as servers of several makes write them.
func TestParseLine(t *testing.T) {
	now := time.Date(2028, 1, 15, 12, 0, 0, 0, time.UTC)
	for line, want := range map[string]string{
		"-rw-r--r--    1 0        0             12 Jan 14 17:13  two blanks": "- two blanks 12 -rw-r--r-- 2028-01-14 17:13",
		"-rw-r--r-- 1 user group 12 Nov 21 17:13 name ":                      "-name  12 -rw-r--r-- 2027-11-21 17:13",
		"-rw-r--r-- 1 user group 12 Nov 21  2024 a b":                        "-a b 12 -rw-r--r-- 2024-11-21 00:00",
		"-rw-r--r-- 1 user 12 Nov 21 2024 no group":                          "-no group 12 -rw-r--r-- 2024-11-21 00:00",
		"-rw-r--r--+ 1 user group 12 Nov 21 2024 acl":                        "-acl 12 -rw-r--r-- 2024-11-21 00:00",
		"-rw-r--r-- 1 Domain Users 12 Nov 21 2024 x":                         "-x 12 -rw-r--r-- 2024-11-21 00:00",
		"drwxr-s--- 2 user group 4096 Jan 16 12:00 tomorrow":                 "-tomorrow 4096 drwxr-x--- 2028-01-16 12:00",
		"-rw-r--r-- 1 user group 12 Feb 29 17:13 leap":                       "-leap 12 -rw-r--r-- 2027-03-01 17:13", // there was none
		"lrwxrwxrwx 1 user group 3 Nov 21 2024 l -> a -> b":                  "-l 3 Lrwxrwxrwx 2024-11-21 00:00",
		"brw-r--r-- 1 user group 3 Nov 21 2024 device":                       "-device 3 ?rw-r--r-- 2024-11-21 00:00",
		"-rw-r--r-- 1 user group 12 Nov 21 2024 Nov 22 2025 c":               "-Nov 22 2025 c 12 -rw-r--r-- 2024-11-21 00:00",
		"11-21-26  05:13PM       <DIR>          a dir":                       "-a dir -1 d--------- 2026-11-21 17:13",
		"11-21-26  05:13AM                   12 a file":                      "-a file 12 ---------- 2026-11-21 05:13",
		"2026-11-21  17:13                   12 a file":                      "-a file 12 ---------- 2026-11-21 17:13",
		"total 12": "", "": "", " ": "", "drwx": "", "-rw-r--r-- 1 u g x Nov 21 2024 x": "", "-rw-?--r-- 1 u g 1 Nov 21 2024 x": "",
		"11-21-26  05:13PM": "", "99-99-99  05:13PM 12 x": "", "11-21-26 05:13PM 12": "-",
	} {
		got := ""
		if e, ok := parseLine(line, now); ok && isName(e.Name) {
			got = fmt.Sprintf("-%s %d %s %s", e.Name, e.Size, e.Mode, e.ModTime.Format("2006-01-02 15:04"))
		} else if ok {
			got = "-"
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
}

// No line of a server makes the parsers panic.
func FuzzLines(f *testing.F) {
	f.Add("-rw-r--r-- 1 user group 12 Nov 21 17:13 name")
	f.Add("type=file;size=12;modify=20200102030405; name")
	f.Add("11-21-26  05:13PM 12 x")
	f.Add("227 )(")
	f.Fuzz(func(t *testing.T, line string) {
		now := time.Unix(1800000000, 0)
		if e, ok := parseLine(line, now); ok && e.Size < -1 {
			t.Errorf("%+v", e)
		}
		if e, ok := parseFacts(line); ok && e.Size < -1 {
			t.Errorf("%+v", e)
		}
		_, _ = parseEPSV(line)
		_, _ = parsePASV(line)
		_, _ = parseCode(line)
		_ = printable(line)
	})
}
