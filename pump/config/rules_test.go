package config_test

import (
	"testing"

	"srpump/pump/config"
)

func keys(c *config.Config) []string {
	var out []string
	for _, b := range c.Bindings {
		out = append(out, b.Exchange+" "+b.Key())
	}
	return out
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
		return
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
}

func TestBindings(t *testing.T) {
	for name, c := range map[string]struct {
		lines, argv, want []string
	}{
		"order matters": {
			lines: []string{"exchange A", "subtopic a.*.b.#", "exchange B", "subtopic *.c"},
			want:  []string{"A v02.post.a.*.b.#", "B v02.post.*.c"},
		},
		"prefix in force": {
			lines: []string{"topic_prefix v02.report", "subtopic a", "topic_prefix v02.post", "subtopic b"},
			want:  []string{"xpublic v02.report.a", "xpublic v02.post.b"},
		},
		"none said":            {lines: []string{"exchange A"}, want: []string{"A v02.post.#"}},
		"everything":           {lines: []string{"subtopic #"}, want: []string{"xpublic v02.post.#"}},
		"no binding":           {lines: []string{"subtopic none"}},
		"no binding, but then": {lines: []string{"subtopic off", "subtopic x"}, want: []string{"xpublic v02.post.x"}},
		"escapes": {
			lines: []string{`subtopic a\ b.c#d.#.e`}, want: []string{"xpublic v02.post.a%20b.c%23d.#.e"},
		},
		"the command line adds and pins": {
			lines: []string{"exchange A", "subtopic file"}, argv: []string{"-ex", "X", "-sub", "cmd.#"},
			want: []string{"X v02.post.cmd.#", "X v02.post.file"},
		},
		"the command line keeps its order": {
			argv: []string{"-sub", "one", "-ex", "X", "-sub", "two"},
			want: []string{"xpublic v02.post.one", "X v02.post.two"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			h.write("subscribe/s.conf", c.lines...)
			same(t, "bindings", keys(h.clean(config.Subscribe, append(c.argv, "s")...)), c.want)
		})
	}
}

func TestSubtopicOfAPosterIsTheLast(t *testing.T) {
	h := newHouse(t)
	if got := h.clean(config.Post, "-sub", "a.b", "-subtopic", "x.y").Values.String("subtopic"); got != "x.y" {
		t.Errorf("subtopic is %q, want x.y", got)
	}
}

func TestRulesCaptureWhatIsInForce(t *testing.T) {
	h := newHouse(t)
	path := h.write("subscribe/s.conf",
		"directory /one", "accept .*a", "mirror on", "strip 3", "flatten -", "filename WHATFN",
		"directory /two/${YYYYMMDD}/${0}", "get .*b DESTFN=q.gif", "reject .*", "directory /end", "mirror off")
	c := h.clean(config.Subscribe, "s")
	want := []config.Rule{
		{Accept: true, Pattern: ".*a", File: path, Line: 2,
			Capture: config.Capture{Directory: "/one", Strip: "0", Flatten: "/"}},
		{Accept: true, Pattern: ".*b", FileOption: "DESTFN=q.gif", File: path, Line: 8,
			Capture: config.Capture{Directory: "/two/${YYYYMMDD}/${0}", Filename: "WHATFN", Mirror: true, Strip: "3", Flatten: "-"}},
		{Pattern: ".*", File: path, Line: 9,
			Capture: config.Capture{Directory: "/two/${YYYYMMDD}/${0}", Filename: "WHATFN", Mirror: true, Strip: "3", Flatten: "-"}},
	}
	if len(c.Rules) != len(want) {
		t.Fatalf("%d rules, want %d", len(c.Rules), len(want))
	}
	for i := range want {
		if c.Rules[i] != want[i] {
			t.Errorf("rule %d is %+v, want %+v", i, c.Rules[i], want[i])
		}
	}
	if c.Final.Directory != "/end" || c.Final.Mirror || c.Final.Strip != "3" {
		t.Errorf("final is %+v", c.Final)
	}
}

// Rules of default.conf come first, then those of the command line, then
// those of the file; a directory of the command line holds for all files.
func TestRulesOfTheCommandLine(t *testing.T) {
	h := newHouse(t)
	h.write("default.conf", "directory /default", "reject .*tmp$")
	h.write("subscribe/s.conf", "directory /file", "accept .*file")
	c := h.clean(config.Subscribe, "-acc", ".*cmd", "-directory", "/cmd", "-mirror", "s")
	var got []string
	for _, r := range c.Rules {
		got = append(got, r.Pattern+" "+r.Directory)
	}
	same(t, "rules", got, []string{".*tmp$ /cmd", ".*cmd /default", ".*file /cmd"})
	if c.Final.Directory != "/cmd" || !c.Final.Mirror || c.Rules[1].Mirror || !c.Rules[2].Mirror {
		t.Errorf("final %+v, rules %+v", c.Final, c.Rules)
	}
	if c.Rules[1].File != config.CommandLine {
		t.Errorf("the rule of the command line is said to be from %q", c.Rules[1].File)
	}
}

func TestAcceptsUnmatched(t *testing.T) {
	h := newHouse(t)
	h.write("subscribe/with.conf", "accept .*")
	h.write("subscribe/without.conf", "directory /x")
	for _, c := range []struct {
		want bool
		argv []string
	}{
		{false, []string{"with"}}, {true, []string{"without"}}, {false, []string{"-au=off", "without"}},
		{true, []string{"-au", "with"}},
	} {
		if got := h.clean(config.Subscribe, c.argv...).AcceptsUnmatched(); got != c.want {
			t.Errorf("%q accepts the unmatched: %v, want %v", c.argv, got, c.want)
		}
	}
}
