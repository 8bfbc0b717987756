package config_test

import (
	"strings"
	"testing"

	"srpump/pump/config"
)

// A hook that is not run may be what keeps files away: without a word about
// it nothing may start. What v02 does by plugins and we do without is fine.
func TestHooksAreNotDroppedInSilence(t *testing.T) {
	for line, want := range map[string]string{
		"on_message filter.py":     "plugins in Python are not run",
		"on_msg filter":            "plugins in Python are not run",
		"plugin msg_rename_whatfn": "plugins in Python are not run",
		"do_task exec:/bin/x -a":   "no hooks are run in this release",
		"on_file file_log":         "",
		"on_message msg_log.py":    "",
		"on_message None":          "",
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

func TestNoneTakesHooksBack(t *testing.T) {
	h := newHouse(t)
	h.write("default.conf", "on_message filter.py", "on_file notify.py")
	h.write("subscribe/s.conf", "on_message none")
	c, problems := h.load(config.Subscribe, "s")
	if len(problems) != 1 || problems[0].Option != "on_file" || len(c.Values.List("on_message")) != 0 {
		t.Errorf("problems are %v", problems)
	}
}
