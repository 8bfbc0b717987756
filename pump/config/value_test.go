package config

import (
	"testing"
	"time"
)

func TestParseSize(t *testing.T) {
	for word, want := range map[string]int64{
		"0": 0, "1": 1, "100": 100, "10kB": 10240, "50M": 52428800, "50m": 52428800, "200MB": 200 << 20,
		"1g": 1 << 30, "3T": 3 << 40, "7b": 7,
	} {
		if got, err := ParseSize(word); err != nil || got != want {
			t.Errorf("size %q is %d (%v), want %d", word, got, err, want)
		}
	}
	for _, word := range []string{"", "-1", "+1", "k", "1kk", "1.5M", "9999999T", "1 M", "M1", "99999999999999999999"} {
		if got, err := ParseSize(word); err == nil {
			t.Errorf("size %q is taken for %d", word, got)
		}
	}
}

func TestParseDuration(t *testing.T) {
	for word, want := range map[string]time.Duration{
		"1.5h": 5400 * time.Second, "2w": 1209600 * time.Second, "1d": 24 * time.Hour, "30": 30 * time.Second,
		"10m": 10 * time.Minute, "10M": 10 * time.Minute, "0.1": 100 * time.Millisecond, "0": 0, ".5s": time.Second / 2,
	} {
		if got, err := parseDuration(word); err != nil || got != want {
			t.Errorf("duration %q is %v (%v), want %v", word, got, err, want)
		}
	}
	for _, word := range []string{"", "s", "-1", "1e9", "inf", "nan", "1h30m", "1y", "999999999999w", "1..2", "0x1"} {
		if got, err := parseDuration(word); err == nil {
			t.Errorf("duration %q is taken for %v", word, got)
		}
	}
}

func TestParseOctal(t *testing.T) {
	for word, want := range map[string]uint32{"0644": 0o644, "400": 0o400, "0": 0, "7777": 0o7777, "0o755": 0o755} {
		if got, err := parseOctal(word); err != nil || got != want {
			t.Errorf("mode %q is %o (%v), want %o", word, got, err, want)
		}
	}
	for _, word := range []string{"", "8", "10000", "-1", "rw"} {
		if _, err := parseOctal(word); err == nil {
			t.Errorf("mode %q is taken", word)
		}
	}
}

func TestParseBool(t *testing.T) {
	for word, want := range map[string]bool{"true": true, "YES": true, "On": true, "1": true, "off": false, "no": false, "0": false} {
		if got, doubt := parseBool(word); got != want || doubt != "" {
			t.Errorf("%q is %v (%s), want %v", word, got, doubt, want)
		}
	}
	if got, doubt := parseBool("perhaps"); got || doubt == "" {
		t.Error("everything else is false, and worth a word")
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"mirror", "mirror", 0}, {"mirorr", "mirror", 1}, {"miror", "mirror", 1}, {"mirrors", "mirror", 1},
		{"acept", "accept", 1}, {"", "abc", 3}, {"ab", "ba", 1}, {"directroy", "directory", 1}, {"kitten", "sitting", 3},
	} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance of %q and %q is %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestSplitLine(t *testing.T) {
	for line, want := range map[string][]string{
		"":                               nil,
		"  # a comment":                  nil,
		"mirror\ton  \r\n":               {"mirror", "on"},
		`directory /a/with\ blank`:       {"directory", "/a/with blank"},
		`directory /a\ b\ c tail`:        {"directory", "/a b c", "tail"},
		`accept .*\`:                     {"accept", `.*\`},
		"--post_broker amqp://h/ # here": {"--post_broker", "amqp://h/", "#", "here"},
	} {
		got, err := splitLine(line)
		if err != nil || len(got) != len(want) {
			t.Errorf("%q is cut into %q (%v), want %q", line, got, err, want)
			continue
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%q is cut into %q, want %q", line, got, want)
			}
		}
	}
	for _, line := range []string{"a\x00b", "caf\xe9 x", "a\rb", "--- x", "-"} {
		if words, err := splitLine(line); err == nil {
			t.Errorf("%q is taken for %q", line, words)
		}
	}
}

// Whatever a line holds, the parser neither panics nor reports a problem
// without saying on which line.
func FuzzLine(f *testing.F) {
	for _, seed := range []string{
		"mirror on", "accept .*\\.gif DESTFN=x", "subtopic a.#", "expire 1x", "blocksize 10kB", "broker amqp://u:p@h/",
		"directory ${YYYYMMDD-1D}/${0}/${HOME", "declare env A=b", "header a=b=c", "include x*", "mirorr", "${}", "-- x",
		"events a|b", "s -", "chmod 9", "x\\ y\\", "suppress_duplicates", "unknown_options error", "sum=d",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		env := Env{Home: t.TempDir(), Cwd: "/nonexistent"}
		p := newParser(env, Sarra, "fuzz")
		p.file = "fuzz.conf"
		p.lines([]byte("mirror on\n" + line))
		p.finish(nil)
		p.config("")
		for _, problem := range p.problems {
			if problem.Line == 0 || problem.File == "" || problem.Text == "" {
				t.Errorf("%q: problem without a place: %+v", line, problem)
			}
		}
	})
}
