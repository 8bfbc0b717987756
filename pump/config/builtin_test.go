package config_test

import (
	"strings"
	"testing"

	"srpump/pump/config"
)

// Options of a hook are known where it is named, whatever comes first, and read there.
func TestOptionsOfBuiltins(t *testing.T) {
	for lines, want := range map[string]string{
		"on_message msg_delay;msg_delay 30":                                "",
		"msg_delay 30;on_message msg_delay.py":                             "",
		"plugin msg_delay;msg_delay 1.5h":                                  "",
		"msg_delay 30":                                                     "unknown option",
		"on_message msg_delay;msg_delay soon":                              `option "msg_delay": "soon" is not a duration`,
		"on_message msg_delay;msg_dlay 30":                                 "unknown option",
		"on_file msg_delay":                                                "msg_delay works at on_message",
		"on_message msg_download_baseurl":                                  "needs the option msg_download_baseurl",
		"on_post post_override;post_override_del source":                   "",
		"do_download accel_cp;accel_cp_command cp ${url} ${file}":          "",
		"on_post post_rate_limit;post_rate_limit 0":                        "is less than 1",
		"on_file file_rxpipe;file_rxpipe_name /x;file_rxpipe_nam /y":       "unknown option",
		"on_message msg_delay;plugin_missing ignore;on_file msg_delay":     "msg_delay works at on_message",
		"on_message msg_to_clusters;msg_to_clusters A;msg_to_clusters B,C": "",
	} {
		h := newHouse(t)
		h.write("subscribe/s.conf", append([]string{"unknown_options error"}, strings.Split(lines, ";")...)...)
		_, problems := h.load(config.Subscribe, "s")
		switch {
		case want == "" && len(problems) > 0:
			t.Errorf("%s: %v", lines, problems)
		case want != "" && (len(problems) != 1 || !strings.Contains(problems[0].Text, want)):
			t.Errorf("%s: problems are %v", lines, problems)
		}
	}
}

// A slip in an option of a hook is an error that says what was meant.
func TestSlipInOptionOfBuiltin(t *testing.T) {
	h := newHouse(t)
	h.write("subscribe/s.conf", "on_message msg_delay", "msg_dealy 30", "unknown_options error")
	_, problems := h.load(config.Subscribe, "s")
	if len(problems) != 1 || problems[0].Severity != config.Error || problems[0].Line != 2 || problems[0].Hint != `did you mean "msg_delay"?` {
		t.Errorf("problems are %v", problems)
	}
}

// A command keeps what stands for something of each event, though it is called as an option is.
func TestTemplateOfBuiltin(t *testing.T) {
	h := newHouse(t)
	h.write("subscribe/s.conf", "do_download accel_cp", "accel_cp_command ${PROGRAM} ${url} ${file}", "post_base_url http://x/")
	c := h.clean(config.Subscribe, "s")
	b, _ := config.FindBuiltin("accel_cp")
	v, err := b.Read(c.Unknown)
	if got := v.String("accel_cp_command"); err != nil || got != "sr_subscribe ${url} ${file}" || v.Size("accel_cp_threshold") != 10<<20 {
		t.Errorf("command is %q: %v", got, err)
	}
}
