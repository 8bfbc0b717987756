package config_test

import (
	"fmt"
	"strings"
	"testing"

	"srpump/pump/config"
)

func TestNormalizeArgs(t *testing.T) {
	for line, want := range map[string]string{
		"-pb x -p a b c":                      "[[post_broker x] [path a]] [b c]",
		"--post_broker=x foreground conf":     "[[post_broker x]] [foreground conf]",
		"foreground conf --post-broker x":     "[[post_broker x]] [foreground conf]",
		"-mirror foreground conf":             "[[mirror]] [foreground conf]",
		"-mirror off conf":                    "[[mirror off]] [conf]",
		"-mirror=off conf":                    "[[mirror off]] [conf]",
		"-mirror 1":                           "[[mirror]] [1]",
		"-sd -p f":                            "[[suppress_duplicates] [path f]] []",
		"-sd 20m start":                       "[[suppress_duplicates 20m]] [start]",
		"-sd start":                           "[[suppress_duplicates]] [start]",
		"-progress off x":                     "[[progress off]] [x]",
		"-no -1":                              "[[no -1]] []",
		"-b - -pb - -p -":                     "[[broker -] [post_broker -] [path -]] []",
		"- x":                                 "[] [- x]",
		"-0 -p -":                             "[[null_input] [path -]] []",
		"-h":                                  "[[help]] []",
		"-V":                                  "[[version]] []",
		"-c my.conf -a start":                 "[[config my.conf] [action start]] []",
		"-- -pb x":                            "[] [-pb x]",
		"-reject -foo.*":                      "[[reject -foo.*]] []",
		"-header k=v=w":                       "[[header k=v=w]] []",
		"-header=k=v":                         "[[header k=v]] []",
		"-my_hook=5 -other_one start":         "[[my_hook 5] [other_one]] [start]",
		"-s sftp://u@h//d/foo -pb amqp://b.c": "[[post_base_url sftp://u@h//d/foo] [post_broker amqp://b.c]] []",
		"-message-ttl 5":                      "[[message_ttl 5]] []",
	} {
		words, rest, err := config.NormalizeArgs(strings.Fields(line))
		if got := fmt.Sprint(words, rest); err != nil || got != want {
			t.Errorf("%q is %s (%v), want %s", line, got, err, want)
		}
	}
}

func TestNormalizeArgsRefuses(t *testing.T) {
	for line, want := range map[string]string{
		"-mirorr":              `did you mean "mirror"?`,
		"--post_borker=x":      `did you mean "post_broker"?`,
		"-pb":                  `option "-pb" needs a value`,
		"-pb -px x":            `write -pb=-px`,
		"-5":                   `"-5" is not an option`,
		"--=x":                 `"--=x" is not an option`,
		"-mirorr -directroy /": "directory",
	} {
		_, _, err := config.NormalizeArgs(strings.Fields(line))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error is %v, want %s", line, err, want)
		}
	}
}

func TestOptionWithoutEffect(t *testing.T) {
	h := newHouse(t)
	_, problems := h.load(config.Post, "-prefetch", "5")
	if len(problems) != 1 || problems[0].String() != `command line: option "prefetch" has no effect on sr_post` || config.Failed(problems) {
		t.Errorf("problems are %v", problems)
	}
	h.write("default.conf", "prefetch 5")
	h.clean(config.Post)
}

func TestConfigOption(t *testing.T) {
	h := newHouse(t)
	h.write("subscribe/a.conf", "attempts 7")
	h.write("subscribe/b.conf", "batch 8")
	if c := h.clean(config.Subscribe, "-c", "a"); c.Name != "a" || c.Values.Int("attempts") != 7 {
		t.Errorf("-c a loads %q", c.Name)
	}
	h.write("subscribe/extra.inc", "attempts 9")
	c := h.clean(config.Subscribe, "-c", "extra", "b")
	if c.Name != "b" || c.Values.Int("attempts") != 9 || c.Values.Int("batch") != 8 {
		t.Errorf("-c beside an argument is no include: %q", c.Name)
	}
	if strings.Contains(c.Values.Origin("attempts"), config.CommandLine) {
		t.Error("what an included file says is not the command line")
	}
}
