package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"srpump/pump/config"
)

func TestSubstitution(t *testing.T) {
	h := newHouse(t)
	h.vars["WHERE"], h.vars["YYYY"], h.vars["N"] = "/from/env", "from env", "has ${WHERE}"
	h.write("subscribe/s.conf",
		"broker amqp://bob@h.example/", "declare env MINE=declared", "mykept kept", "header a=1", "post_base_dir /pbd",
		"base_dir ${WHERE}/${MINE}/${mykept}",
		"queue_name q_${BROKER_USER}.${PROGRAM}.${CONFIG}.${RANDID}.${HOSTNAME}",
		"directory ${post_base_dir}/${YYYYMMDD-1D}/${YYYY}/${0}/${SOURCE}/${T1}",
		"source ${NOT_SET}-${N}-${header}-$-${", "cluster ${YYYY}")
	c, problems := h.load(config.Subscribe, "s")
	for name, want := range map[string]string{
		"base_dir":   "/from/env/declared/kept",
		"queue_name": "q_bob.sr_subscribe.s.1f2e.h.example.org",
		"directory":  "/pbd/${YYYYMMDD-1D}/${YYYY}/${0}/${SOURCE}/${T1}",
		"source":     "${NOT_SET}-has ${WHERE}-a=1-$-${",
	} {
		if got := c.Values.String(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	var texts []string
	for _, p := range problems {
		texts = append(texts, p.Text)
	}
	if s := strings.Join(texts, "\n"); !strings.Contains(s, "NOT_SET") || strings.Contains(s, "YYYY") {
		t.Errorf("problems are\n%s", s)
	}
	if c.Environ["MINE"] != "declared" {
		t.Errorf("declared variables are %v", c.Environ)
	}
}

// What a user gets to read for each kind of mistake.
func TestProblems(t *testing.T) {
	for _, c := range []struct {
		line, want, hint string
		severity         config.Severity
	}{
		{"mirorr on", `unknown option "mirorr"`, `did you mean "mirror"?`, config.Error},
		{"Mirror on", `unknown option "Mirror"`, `did you mean "mirror"?`, config.Error},
		{"mirror=on", `unknown option "mirror=on"`, `in a file, write a blank instead of = after "mirror"`, config.Error},
		{"msg_delay 30", `unknown option "msg_delay"`, "it is kept for hooks as SR_OPT_msg_delay", config.Warning},
		{"mirror perhaps", `option "mirror" takes on or off, so "perhaps" is taken for off`, "", config.Warning},
		{"attempts many", `option "attempts": "many" is not a whole number`, "", config.Error},
		{"attempts 0", `option "attempts": "0" is less than 1`, "", config.Error},
		{"timeout 5y", `option "timeout": "5y" is not a duration such as 30, 1.5h or 2w`, "", config.Error},
		{"expire 10", `option "expire" is only 10s: announcements may be lost while nobody reads`, "", config.Warning},
		{"fsync now", `option "fsync": "now" is none of group, each, off`, "", config.Error},
		{"events create,eat", `option "events": "eat" is none of create, delete, modify, link, move, mkdir`, "", config.Error},
		{"chmod 888", `option "chmod": "888" is not an octal mode such as 0644`, "", config.Error},
		{"broker h.example", `option "broker": is not a URL: it has no scheme such as amqp or https`, "", config.Error},
		{"broker amqp://u:se#cret@h/", `option "broker": is not a URL: special characters in a user or password are written %XX`, "", config.Error},
		{"broker amqp://u:p@h:56722x/", `option "broker": names no port: what follows the host and a colon is a number from 1 to 65535`, "", config.Error},
		{"broker amqp://u:p@h:220222/", `option "broker": names no port: what follows the host and a colon is a number from 1 to 65535`, "", config.Error},
		{"broker amqp://u:p@[::1]/", "", "", 0},
		{"broker amqp:/u@h/", `option "broker": names no host: write amqp:// and the host`, "", config.Error},
		{"broker sqlite:x.db", "", "", 0},
		{"vip pump.example", `option "vip": "pump.example" is not an IP address such as 10.0.0.7`, "", config.Error},
		{"vip fe80::1", "", "", 0},
		{"subtopic", `option "subtopic": needs a value`, "", config.Error},
		{"subtopic a b", `option "subtopic" takes one word, so "b" and what follows is ignored`, "write one subtopic line for each", config.Warning},
		{"accept a b c", `option "accept" takes a pattern and at most one word more`, `write a blank in a pattern as \s`, config.Warning},
		{"directory", `option "directory": needs a value`, "", config.Error},
		{"directory /a b", `option "directory" takes one word, so "b" and what follows is ignored`, "", config.Warning},
		{"accept", `option "accept": needs a pattern`, "", config.Error},
		{"version", `option "version" is for the command line only`, "", config.Error},
		{"declare env X", "", "", 0},
		{"declare env", "declare env takes NAME=value", "", config.Error},
		{"include nothing", "cannot find", "", config.Error},
		{"sum d\x00", "the line holds a zero byte, so nothing of the file is read", "is it a text file?", config.Error},
		{"source caf\xe9", "the line is not UTF-8", "", config.Error},
		{"source " + strings.Repeat("x", 70000), "the line is longer than 65536 bytes", "", config.Error},
	} {
		h := newHouse(t)
		path := h.write("subscribe/s.conf", "# first", c.line)
		_, problems := h.load(config.Subscribe, "s")
		if c.want == "" {
			if len(problems) > 0 {
				t.Errorf("%q: unexpected %s", c.line, problems[0])
			}
			continue
		}
		if len(problems) != 1 {
			t.Errorf("%.40q: %d problems, want 1: %v", c.line, len(problems), problems)
			continue
		}
		p := problems[0]
		if !strings.HasPrefix(p.Text, c.want) || p.Hint != c.hint || p.Severity != c.severity || p.File != path || p.Line != 2 {
			t.Errorf("%.40q: %s: %s (%s)", c.line, p.Severity, p, p.Hint)
		}
	}
}

func TestUnknownOptions(t *testing.T) {
	h := newHouse(t)
	h.write("subscribe/s.conf", "msg_list one two", "msg_list three", "msg_flag")
	c, problems := h.load(config.Subscribe, "s", "-msg_cli=x")
	if len(problems) != 3 || config.Failed(problems) {
		t.Errorf("problems are %v, want one warning for each name", problems)
	}
	same(t, "msg_list", c.Unknown["msg_list"], []string{"one two", "three"})
	same(t, "msg_flag", c.Unknown["msg_flag"], []string{"true"})
	same(t, "msg_cli", c.Unknown["msg_cli"], []string{"x"})
	if _, problems := h.load(config.Subscribe, "s", "-unknown_options", "error"); !config.Failed(problems) {
		t.Error("unknown_options error has no effect")
	}
}

func TestShapesOfFiles(t *testing.T) {
	h := newHouse(t)
	for name, content := range map[string]string{
		"windows line ends": "\ufeffattempts 7\r\nbatch 8\r\n",
		"no last line end":  "attempts 7\nbatch 8",
		"dashes":            "--attempts 7\n-batch 8\n",
		"old names":         "at 7\nbatch 8 \t\n\n  # end\n",
	} {
		path := filepath.Join(h.env.Cwd, "x.conf")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		v := h.clean(config.Subscribe, "x.conf").Values
		if v.Int("attempts") != 7 || v.Int("batch") != 8 {
			t.Errorf("%s: attempts %d, batch %d", name, v.Int("attempts"), v.Int("batch"))
		}
	}
	for name, content := range map[string]string{
		"the file is UTF-16": "\xff\xfea\x00",
		"larger than":        strings.Repeat("# comment\n", 110000),
		"too many problems":  strings.Repeat("attempts x\n", 200),
	} {
		path := filepath.Join(h.env.Cwd, "x.conf")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, problems := h.load(config.Subscribe, "x.conf")
		if len(problems) == 0 || len(problems) > 101 || !strings.Contains(problems[len(problems)-1].Text, name) {
			t.Errorf("%s: problems are %v", name, problems)
		}
	}
}

func TestInclude(t *testing.T) {
	h := newHouse(t)
	h.write("subscribe/s.conf", "include beside", "config shared.inc", "include parts/*.inc", "batch 5")
	h.write("subscribe/beside.inc", "attempts 4", "include parts/one")
	h.write("subscribe/parts/one.inc", "source one")
	h.write("subscribe/parts/two.inc", "source two", "batch 3")
	h.write("shared.inc", "cluster shared")
	c := h.clean(config.Subscribe, "s")
	if v := c.Values; v.Int("attempts") != 4 || v.Int("batch") != 5 || v.String("source") != "two" || v.String("cluster") != "shared" {
		t.Errorf("attempts %d, batch %d, source %q, cluster %q", v.Int("attempts"), v.Int("batch"), v.String("source"), v.String("cluster"))
	}
	if len(c.Files) != 6 {
		t.Errorf("files read are %q", c.Files)
	}
	if got := c.Values.Origin("source"); !strings.HasSuffix(got, "parts/two.inc:1") {
		t.Errorf("origin of source is %q", got)
	}
}

func TestIncludeIsBounded(t *testing.T) {
	h := newHouse(t)
	h.write("subscribe/loop.conf", "include other", "attempts 9")
	h.write("subscribe/other.inc", "include loop.conf")
	c, problems := h.load(config.Subscribe, "loop")
	if len(problems) != 1 || !strings.Contains(problems[0].Text, "would include itself") || c.Values.Int("attempts") != 9 {
		t.Errorf("a loop: %v", problems)
	}
	for i := range 20 {
		next := fmt.Sprintf("include d%d", i+1)
		h.write(fmt.Sprintf("subscribe/d%d.inc", i), next, next)
	}
	h.write("subscribe/d20.inc", "# end")
	h.write("subscribe/deep.conf", "include d0")
	c, problems = h.load(config.Subscribe, "deep")
	if !config.Failed(problems) || len(c.Files) > 256 {
		t.Errorf("a tree of includes: %d files read, %d problems", len(c.Files), len(problems))
	}
}

func TestComponentInsists(t *testing.T) {
	h := newHouse(t)
	h.write("default.conf", "suppress_duplicates 5", "mirror off")
	h.write("winnow.conf", "suppress_duplicates 600")
	h.write("winnow/own.conf", "suppress_duplicates 700")
	c, problems := h.load(config.Winnow)
	if got := c.Values.Duration("suppress_duplicates").Seconds(); got != 1200 {
		t.Errorf("suppress_duplicates is %v, want 1200", got)
	}
	if len(problems) != 1 || problems[0].Severity != config.Warning || !strings.Contains(problems[0].Text, "winnow.conf:1") {
		t.Errorf("problems are %v, want a warning about winnow.conf:1", problems)
	}
	c, _ = h.load(config.Winnow, "own")
	if got := c.Values.Duration("suppress_duplicates").Seconds(); got != 700 {
		t.Errorf("suppress_duplicates is %v, want the configuration's 700", got)
	}
}

func TestListsAddUp(t *testing.T) {
	h := newHouse(t)
	h.write("default.conf", "header a=default")
	h.write("post/p.conf", "header a=file", "path /data/tree", "events create")
	words, _, err := config.NormalizeArgs([]string{"-header", "a=cmd", "-e", "delete|modify"})
	if err != nil {
		t.Fatal(err)
	}
	c, _ := config.Load(config.Request{Env: h.env, Preset: config.Post, ConfigArg: "p", Args: words, Paths: []string{"/x/${HOME}", "none"}})
	same(t, "header", c.Values.List("header"), []string{"a=default", "a=file", "a=cmd"})
	same(t, "path", c.Values.List("path"), []string{"/data/tree", "/x/${HOME}", "none"})
	same(t, "events", c.Values.List("events"), []string{"delete", "modify"})
	h.write("post/q.conf", "header none")
	if got := h.clean(config.Post, "q").Values.List("header"); len(got) != 0 {
		t.Errorf("header none leaves %q", got)
	}
}

func TestSpellingsOfValues(t *testing.T) {
	for line, want := range map[string]float64{
		"suppress_duplicates": 300, "cache on": 300, "nd off": 0, "sd 20m": 1200, "no_duplicates none": 0, "caching 0": 0,
	} {
		h := newHouse(t)
		h.write("post/p.conf", line)
		if got := h.clean(config.Post, "p").Values.Duration("suppress_duplicates").Seconds(); got != want {
			t.Errorf("%q is %v s, want %v", line, got, want)
		}
	}
	for _, broker := range []string{"-", "sqlite:", "sqlite:///tmp/pump.db", "amqps://u@h:5671/dev"} {
		if got := newHouse(t).clean(config.Subscribe, "-b", broker).Values.String("broker"); got != broker {
			t.Errorf("broker %q becomes %q", broker, got)
		}
	}
	h := newHouse(t)
	h.write("subscribe/s.conf", "events created,deleted", "tls_rigor medium", "loglevel warn", "fsync no", "message-ttl 1h", "discard")
	v := h.clean(config.Subscribe, "s").Values
	if !slices.Equal(v.List("events"), []string{"create", "delete"}) || v.String("tls_rigour") != "normal" ||
		v.String("loglevel") != "warning" || v.String("fsync") != "off" || v.Duration("message_ttl").Hours() != 1 || !v.Bool("discard") {
		t.Error("an accepted spelling does not yield the first one")
	}
}
