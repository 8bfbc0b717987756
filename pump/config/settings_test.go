package config_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"srpump/pump/config"
)

func TestSettings(t *testing.T) {
	h := newHouse(t)
	h.write("default.conf", "sleep 5", "bufsize 2M", "batch 9")
	path := h.write("subscribe/s.conf", "broker amqp://u:secret@h/", "remote_config_url https://u:secret@h/x", "use_pika on", "sleep 6", "pump")
	c := h.clean(config.Subscribe, "s", "-attempts", "2")
	at := map[string]config.Setting{}
	for _, s := range c.Values.Settings() {
		at[s.Name] = s
		if strings.Contains(s.Text, "secret") {
			t.Errorf("%s shows a password", s.Name)
		}
	}
	for name, want := range map[string]config.Setting{
		"broker":   {Text: "amqp://u:***@h/", Origin: path + ":1", Set: true},
		"attempts": {Text: "2", Origin: config.CommandLine, Set: true},
		"batch":    {Text: "9", Origin: filepath.Join(h.env.ConfigDir(), "default.conf") + ":3", Set: true, NoEffect: true},
		"mirror":   {Text: "off", Origin: config.OriginDefault},
		"use_pika": {Text: "on", Origin: path + ":3", Set: true, NoEffect: true},
	} {
		if want.Name = name; at[name] != want {
			t.Errorf("%s is %+v, want %+v", name, at[name], want)
		}
	}
	for _, name := range []string{"listen", "use_amqplib", "accept", "help"} {
		if _, there := at[name]; there {
			t.Errorf("%s is listed", name)
		}
	}
	if got := c.NoEffect(); !slices.Equal(got, []string{"sleep", "batch", "pump", "bufsize", "remote_config_url", "use_pika"}) {
		t.Errorf("without effect are %q", got)
	}
	h.write("subscribe/t.conf", "# nothing")
	if got := h.clean(config.Subscribe, "t").NoEffect(); !slices.Equal(got, []string{"batch", "bufsize"}) {
		t.Errorf("without effect in the shared file are %q", got)
	}
}

func TestPipeIsAPath(t *testing.T) {
	same(t, "path", newHouse(t).clean(config.Post, "-pipe").Values.List("path"), []string{"-"})
}

// State in a home directory that hosts share lies below the name of the host.
func TestStatehost(t *testing.T) {
	h := newHouse(t)
	for value, want := range map[string]string{"": "h", "off": "", "False": "", "short": "h", "yes": "h", "fqdn": "h.example.org"} {
		h.write("subscribe/s.conf", "statehost "+value)
		state := h.clean(config.Subscribe, "s").State()
		root := filepath.Join(h.env.CacheDir(), want)
		if state.Dir() != filepath.Join(root, "subscribe", "s") || state.LogDir() != filepath.Join(root, "log") {
			t.Errorf("statehost %q: %s and %s", value, state.Dir(), state.LogDir())
		}
	}
}

// The worked values of v02's manual and of its parser.
func TestValuesOfV02(t *testing.T) {
	h := newHouse(t)
	for line, want := range map[string]float64{
		"expire 1.5h": 5400, "expire 2w": 1209600, "expire 1d": 86400, "expire 10M": 600, "expire none": 0,
		"message_ttl 1h": 3600, "logrotate_interval 3": 3 * 86400, "logrotate_interval 2h": 7200,
	} {
		h.write("subscribe/s.conf", line)
		name, _, _ := strings.Cut(line, " ")
		if got := h.clean(config.Subscribe, "s").Values.Duration(name).Seconds(); got != want {
			t.Errorf("%q is %v s, want %v", line, got, want)
		}
	}
	for line, want := range map[string]int64{"blocksize 50M": 52428800, "blocksize 10kB": 10240, "blocksize 1": 1} {
		h.write("post/p.conf", line)
		if got := h.clean(config.Post, "p").Values.Size("blocksize"); got != want {
			t.Errorf("%q is %d, want %d", line, got, want)
		}
	}
	h.write("subscribe/s.conf", "chmod 400", "chmod_log 0644", `directory /with\ a\ blank/x`, "--post-broker amqp://h/", "mirror TRUE", "document_root /dr")
	v := h.clean(config.Subscribe, "s").Values
	if v.Octal("chmod") != 0o400 || v.Octal("chmod_log") != 0o644 || v.String("directory") != "/with a blank/x" ||
		v.String("post_broker") != "amqp://h/" || !v.Bool("mirror") || v.String("base_dir") != "/dr" {
		t.Errorf("%v %v %q", v.Octal("chmod"), v.Octal("chmod_log"), v.String("directory"))
	}
}
