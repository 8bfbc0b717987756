package config_test

import (
	"slices"
	"strings"
	"testing"

	"srpump/pump/config"
)

// A hook that is not run may be what keeps files away: without a word about
// it nothing may start. What v02 does by plugins and we do without is fine.
func TestHooksAreNotDroppedInSilence(t *testing.T) {
	for line, want := range map[string]string{
		"on_message filter.py":   "plugins in Python are not run",
		"on_msg filter":          "plugins in Python are not run",
		"plugin rename_theirs":   "plugins in Python are not run",
		"do_task exec:/bin/x -a": "",
		"do_send sftp put":       "plugins in Python are not run",
		"do_send sftp cmd:put":   "",
		"do_get sftp cmd:get":    "",
		"do_get sftp put.py":     "plugins in Python are not run",
		"on_file file_log":       "",
		"on_message msg_log.py":  "",
		"on_message None":        "",
		"on_message msg_totl":    "there is no hook of that name",
		"on_file file_lgo.py":    "there is no hook of that name",
	} {
		h := newHouse(t)
		h.write("subscribe/s.conf", line)
		_, problems := h.load(config.Subscribe, "s")
		if want == "" {
			if len(problems) > 0 {
				t.Errorf("%q: %v", line, problems)
			}
			continue
		}
		if len(problems) != 1 || problems[0].Severity != config.Error || !strings.Contains(problems[0].Text, want) || problems[0].Line != 1 {
			t.Errorf("%q: problems are %v", line, problems)
		}
		h.write("default.conf", "plugin_missing ignore")
		if _, problems := h.load(config.Subscribe, "s"); config.Failed(problems) || len(problems) != 1 {
			t.Errorf("%q, ignored: problems are %v", line, problems)
		}
	}
}

// A slip of the finger is told from a plugin of one's own.
func TestHookNearest(t *testing.T) {
	for line, want := range map[string]string{"on_message msg_totl": `did you mean "msg_total"?`, "on_file file_lgo": `did you mean "file_log"?`, "on_message my_own": "use exec: or cmd:"} {
		h := newHouse(t)
		h.write("subscribe/s.conf", line)
		if _, problems := h.load(config.Subscribe, "s"); len(problems) != 1 || !strings.HasPrefix(problems[0].Hint, want) {
			t.Errorf("%q: problems are %+v", line, problems)
		}
	}
}

func TestNoneTakesHooksBack(t *testing.T) {
	h := newHouse(t)
	h.write("default.conf", "on_message filter.py", "on_file notify.py")
	h.write("subscribe/s.conf", "on_message none")
	c, problems := h.load(config.Subscribe, "s")
	if len(problems) != 1 || problems[0].Option != "on_file" || len(c.Values.List("on_message")) != 0 {
		t.Errorf("problems are %v", problems)
	}
}

// A line is one hook with its words, and what stands for something of each event is left to it.
func TestHookLinesKeepTheirWords(t *testing.T) {
	h := newHouse(t)
	h.write("subscribe/s.conf", "on_file cmd:tell '${file} of ${PROGRAM}' ${header.source}", "on_file exec:b")
	c := h.clean(config.Subscribe, "s")
	want := []string{"cmd:tell '${file} of sr_subscribe' ${header.source}", "exec:b"}
	if got := c.Values.List("on_file"); !slices.Equal(got, want) {
		t.Errorf("hooks are %q", got)
	}
}
