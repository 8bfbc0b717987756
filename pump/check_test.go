package pump

import (
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"srpump/pump/config"
)

// loaded is a configuration of these lines.
func loaded(t *testing.T, p config.Preset, lines string) (*config.Config, []config.Problem) {
	t.Helper()
	home := t.TempDir()
	path := filepath.Join(home, "x.conf")
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	env := config.Env{Home: home, Cwd: home, Hostname: "h", RandID: "0000"}
	return config.Load(config.Request{Env: env, Preset: p, ConfigArg: path})
}

func checkHost(t *testing.T) *Host {
	return &Host{Log: slog.New(slog.DiscardHandler), Cwd: t.TempDir(), Now: time.Now, Database: filepath.Join(t.TempDir(), "pump.db")}
}

// Check fails for a configuration if, and only if, a start would refuse it.
func TestCheckAgreesWithStart(t *testing.T) {
	corpus := []string{
		"", "broker amqp://u@h/", "broker amqp://u:p@h/", "broker http://h/", "broker -", "broker sqlite:",
		"outlet url", "outlet json", "inflight none", "inflight x/y/z", "inflight .tmp", "fsync each",
		"header x", "header x=y", "header =y", "sum q", "sum z,d", "strip [", "strip 2", "strip .*x",
		"accept (", "accept a)(b", `accept (?=x)\1`, "accept (?!x).*", "reject *", "accept .*",
		"accept .* DESTFN=x", "accept .* NOWORD", "filename BAD\naccept .*", "filename WHATFN\naccept .*", "filename BAD",
		"exchange x\npost_exchange x\npost_broker sqlite:", "exchange x\npost_exchange y\npost_broker sqlite:",
		"post_broker amqp://u:p@h/", "post_broker amqp://u:p@h/\npost_base_url http://h/", "post_broker ftp://h/",
		"post_topic_prefix v04.post", "post_topic_prefix v03.post", "post_topic_prefix v01.post\npost_broker sqlite:", "post_broker sqlite:\ntopic_prefix v9",
		"on_message cmd:/nowhere/x\non_message cmd:true", "on_message x.py", "on_message x.py\nplugin_missing ignore", "plugin good",
		"instances 0", "expire 10m", "chmod 4", "mirror on", "post_base_dir /nowhere",
	}
	for _, p := range []config.Preset{config.Post, config.Watch, config.Subscribe, config.Sarra, config.Winnow, config.Shovel} {
		for _, lines := range corpus {
			if p == config.Watch {
				lines += "\npath ."
			}
			c, problems := loaded(t, p, lines)
			if config.Failed(problems) {
				continue // refused by both before anything of the pump is asked
			}
			h := checkHost(t)
			var err error
			if p&posts != 0 {
				_, err = NewPoster(c, h)
			} else {
				_, err = NewFlow(c, h)
			}
			if failed := config.Failed(Check(c, h)); failed != (err != nil) {
				t.Errorf("%s %q: check fails: %v; start: %v", p, lines, failed, err)
			}
		}
	}
}

// A rule that is said never to match is one whose every text an earlier one takes.
func TestCovered(t *testing.T) {
	for _, c := range []struct {
		earlier, later string
		want           bool
	}{
		{".*", "http://h/x", true},
		{"^.*$", "x", true},
		{"", "x", true},
		{".+", "x", true},
		{"(.*)", "x", true},
		{"http://h/", "http://h/radar/.*", true},
		{"http://h/.*", "http://h/radar", true},
		{"^http://h/", "http://h/(radar|sonar)/.*", true},
		{"http://h/$", "http://h/radar", false},
		{"http://h/radar", "http://h/", false},
		{"(?i)http://h/", "http://h/x", false},
		{`.*\.tmp$`, `.*/a\.tmp$`, true},
		{`.*\.tmp$`, `.*/a\.tmp`, false},
		{`.*\.tmp`, `.*/a\.tmp.*gz$`, true},
		{`.*radar.*`, `http://h/radar/x`, true},
		{`.*radar.*`, `http://h/(radar|sonar)`, false},
		{`.*radar.*x`, `http://h/radar/x`, false},
		{`http://h/[a-z]`, `http://h/a`, false},
		{`http://h/a.`, `http://h/ab`, false},
		{`.`, `x`, false},
		{`x?`, `y`, false},
	} {
		e, ok := shapeOf(c.earlier)
		l, ok2 := shapeOf(c.later)
		if got := ok && ok2 && e.covers(l); got != c.want {
			t.Errorf("%q covers %q: %v, not %v", c.earlier, c.later, got, c.want)
		}
	}
}

// What is claimed of a pair of patterns holds for texts of all kinds.
func TestCoveredIsSound(t *testing.T) {
	parts := []string{".*", "a", "ab", "b", "$", "[ab]", "(a|b)", "^", "b?", "a+"}
	var patterns []string
	for _, x := range parts {
		for _, y := range parts {
			for _, z := range parts {
				patterns = append(patterns, x+y+z)
			}
		}
	}
	var texts []string
	for n := range 1 << 5 {
		for size := 1; size <= 5; size++ {
			var b strings.Builder
			for i := range size {
				b.WriteByte("ab"[n>>i&1])
			}
			texts = append(texts, b.String())
		}
	}
	matched := make(map[string]string) // pattern → which texts
	shapes := make(map[string]shape)
	for _, p := range patterns {
		re := regexp.MustCompile("^(?:" + p + ")")
		var b strings.Builder
		for _, text := range texts {
			b.WriteByte("01"[map[bool]int{true: 1}[re.MatchString(text)]])
		}
		matched[p] = b.String()
		shapes[p], _ = shapeOf(p)
	}
	for _, e := range patterns {
		for _, l := range patterns {
			if !shapes[e].covers(shapes[l]) {
				continue
			}
			for i := range texts {
				if matched[l][i] == '1' && matched[e][i] == '0' {
					t.Fatalf("%q is said to cover %q, which alone matches %q", e, l, texts[i])
				}
			}
		}
	}
}

// What is allowed and hardly meant is warned of, and what looks like it is not.
func TestCheckWarns(t *testing.T) {
	const nothing, above = "there is no accept line", "is not above the directory"
	made := "directory /in\npost_base_dir /made\npost_broker sqlite:\nmirror on\n"
	for _, c := range []struct {
		lines, text string
		want        bool
	}{
		{`reject .*\.bak`, nothing, true}, {"reject .*\\.bak\naccept .*", nothing, false},
		{"reject .*\\.bak\naccept_unmatch on", nothing, false}, {"accept_unmatch off", nothing, false},
		{"post_broker -\npost_base_url sftp://u:s3cret@h/", "password would stand", true}, {"post_broker -\npost_base_url sftp://u@h/", "password", false},
		{"delete on", "fetched by http", false}, {"delete on\naccept ^https?://h/.*", "fetched by http", true},
		{"delete on\naccept http://h/.*\naccept sftp://h/.*", "fetched by http", false}, {"delete on\naccept http://h/.*\naccept_unmatch on", "fetched by http", false},
		{"delete on\naccept http://h/.*\nnotify_only on", "fetched by http", false},
		{made, above, true}, {made + "stage cat", above, false}, {made + "stage cat\nstage_keep on", above, true},
	} {
		cfg, problems := loaded(t, config.Subscribe, c.lines)
		problems = append(problems, Check(cfg, checkHost(t))...)
		said := slices.ContainsFunc(problems, func(p config.Problem) bool { return strings.Contains(p.Text, c.text) })
		if said != c.want {
			t.Errorf("%q: %v", c.lines, problems)
		}
	}
}

// post_topic_prefix takes the place of what either version begins with; without it, topics stay.
func TestTopicOn(t *testing.T) {
	for lines, want := range map[string]string{
		"": "v02.post.a v03.post.a v02.mine.a other.a", "post_topic_prefix v02.post": "v02.post.a v02.post.a v02.mine.a other.a",
		"post_topic_prefix v03.post": "v03.post.a v03.post.a v02.mine.a other.a", "topic_prefix v02.mine\npost_topic_prefix v03.x": "v03.x.a v03.x.a v03.x.a other.a",
	} {
		c, _ := loaded(t, config.Shovel, "broker -\npost_broker -\n"+lines)
		f, err := NewFlow(c, checkHost(t))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for topic := range strings.FieldsSeq("v02.post.a v03.post.a v02.mine.a other.a") {
			got = append(got, f.topicOn(topic))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %v, not %s", lines, got, want)
		}
	}
}

// A subtopic that can hardly mean what it binds is pointed out; usual ones are not.
func TestSubtopics(t *testing.T) {
	for line, want := range map[string]string{
		"v02.post.a.#": `subtopic "v02.post.a.#" is bound as "v02.post.v02.post.a.#", and so seldom matches`,
		"a.b*.#":       `subtopic "a.b*.#": "b*" is no wildcard, and matches only itself`,
		"a.*.#":        "",
		"v02.poster.#": "",
	} {
		c, problems := loaded(t, config.Subscribe, "subtopic "+line)
		problems = append(problems, Check(c, checkHost(t))...)
		switch {
		case want == "" && len(problems) > 0:
			t.Errorf("%s: unexpected %s", line, problems[0])
		case want != "" && (len(problems) != 1 || problems[0].Text != want || problems[0].Line != 1):
			t.Errorf("%s: %v", line, problems)
		}
	}
}

// A password in the URL of a destination, and one that leads nowhere, are told of.
func TestCheckDestination(t *testing.T) {
	for lines, want := range map[string]string{
		"destination sftp://u:secret@h/x": `option "destination" holds a password`,
		"destination sftp://u@h/x":        "",
		"destination ftp://":              "it names no host: write ftp:// and the host",
		"destination file://relative/x":   `"relative" would be a host`,
	} {
		c, problems := loaded(t, config.Sender, lines+"\n")
		var texts []string
		for _, p := range append(problems, Check(c, checkHost(t))...) {
			texts = append(texts, p.Text)
		}
		all := strings.Join(texts, "\n")
		if !strings.Contains(all, want) || want == "" && strings.Contains(all, "destination") || strings.Contains(all, "secret") {
			t.Errorf("%s: %s", lines, all)
		}
	}
}
