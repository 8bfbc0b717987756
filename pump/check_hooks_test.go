package pump

import (
	"fmt"
	"strings"
	"testing"

	"srpump/pump/config"
)

// Hooks nobody ever asks are said to be so, at their lines; those that are asked are not.
func TestCheckUnaskedHooks(t *testing.T) {
	for lines, want := range map[string]string{
		"on_line exec:cat": "subscribe has no such event",
		"on_post exec:cat": "nothing is announced without post_broker",
		"on_post exec:cat\npost_broker sqlite:\npost_exchange y\nmirror on":         "",
		"on_file exec:cat\nnotify_only on":                                          "nothing is fetched",
		"on_file exec:cat\non_message exec:cat\non_data exec:cat\non_stop exec:cat": "",
		"report_back off\non_report exec:cat":                                       "no reports are made",
		"on_line line_date":                                                         "",
	} {
		c, problems := loaded(t, config.Subscribe, lines)
		expectWarning(t, lines, append(problems, Check(c, checkHost(t))...), want)
	}
	for lines, want := range map[string]string{
		"on_line exec:cat\ndestination http://h/":                         "lists nothing here",
		"on_line exec:cat\ndo_poll x cmd:ls\ndestination x://h/":          "",
		"on_html_page exec:cat\ndo_poll x cmd:ls\ndestination x://h/":     "has no pages",
		"on_html_page exec:cat\non_post exec:cat\ndestination http://h/":  "",
		"do_poll cmd:ls\ndestination http://h/":                           "listed without it",
		"on_heartbeat exec:cat\non_start exec:cat\ndestination http://h/": "",
		"plugin exec:cat\non_message exec:cat\ndestination http://h/":     "poll has no such event",
	} {
		lines += "\ndirectory /\naccept .*\npost_base_url http://h/"
		c, problems := loaded(t, config.Poll, lines)
		expectWarning(t, lines, append(problems, Check(c, checkHost(t))...), want)
	}
}

func expectWarning(t *testing.T, lines string, problems []config.Problem, want string) {
	t.Helper()
	for _, p := range problems {
		if !strings.Contains(p.Text, "is never asked") {
			continue
		}
		if want == "" || !strings.Contains(p.Text, want) || p.Line == 0 || p.Severity != config.Warning {
			t.Errorf("%q: %s", lines, p)
		}
		want = ""
	}
	if want != "" {
		t.Errorf("%q: no warning: %v", lines, problems)
	}
}

// Each line that names what cannot be run is reported where it stands.
func TestCheckBadHookLines(t *testing.T) {
	c, problems := loaded(t, config.Subscribe, "on_message cmd:/nowhere/a\non_message cmd:true\non_message 'unclosed\non_message exec:/nowhere/b\non_file exec:\"")
	if problems = append(problems, Check(c, checkHost(t))...); len(problems) != 4 {
		t.Fatal(problems)
	}
	lines := ""
	for _, p := range SortProblems(c, problems) {
		lines += fmt.Sprint(p.Line)
	}
	if lines != "1345" {
		t.Errorf("reported are lines %s: %v", lines, problems)
	}
}

// sr_options(5), post_topic_prefix: only versions that are written are announced.
func TestCheckTopicPrefix(t *testing.T) {
	for prefix, refused := range map[string]bool{"v02.post": false, "v03.post": false, "v02.report": false, "v01.post": false, "v02": false, "exp.post": false, "v04.post": true, "v10": true} {
		for _, preset := range []config.Preset{config.Post, config.Sarra, config.Shovel} {
			c, problems := loaded(t, preset, "post_base_url http://h/\nexchange a\npost_exchange b\npost_topic_prefix "+prefix)
			problems = append(problems, Check(c, checkHost(t))...)
			if config.Failed(problems) != refused {
				t.Errorf("%s %s: %v", preset, prefix, problems)
			}
			for _, p := range problems {
				if p.Severity == config.Error && (p.Line != 4 || !strings.Contains(p.Text, "v03.post")) {
					t.Error(p)
				}
			}
		}
	}
}

// A password in a command is warned of where it stands, and shown nowhere, whatever is said of the line.
func TestCheckSecretsOfCommands(t *testing.T) {
	c, problems := loaded(t, config.Subscribe, "on_message cmd:/nowhere/put "+strings.Repeat("x", 50)+" http://user:s3cr3t@h/\non_file exec:cat --token s3cr3t\n"+
		"on_file mine --password s3cr3t\nstage cat --password=s3cr3t\nplugin_missing ignore\non_post exec:cat")
	problems = append(problems, Check(c, checkHost(t))...)
	warned := 0
	for _, p := range problems {
		if strings.Contains(p.Text+p.Hint, "s3cr3t") {
			t.Error(p.Text)
		}
		if strings.Contains(p.Text, "password in the command") {
			warned++
		}
	}
	if warned != 4 {
		t.Errorf("%d warnings: %v", warned, problems)
	}
}
