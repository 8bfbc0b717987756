package config_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"srpump/pump/config"
)

// A name or alias means one option, in every preset and in files shared by all.
func TestNamesAreUnique(t *testing.T) {
	seen := map[string]string{}
	for _, o := range config.Table() {
		for _, name := range append([]string{o.Name}, o.Aliases...) {
			if owner, taken := seen[name]; taken {
				t.Errorf("%q is both %s and %s", name, owner, o.Name)
			}
			seen[name] = o.Name
			if strings.ContainsAny(name, "- =") {
				t.Errorf("%q can never be typed as an option", name)
			}
		}
	}
}

func TestRowsAreComplete(t *testing.T) {
	for _, o := range config.Table() {
		if o.Help == "" || o.Section == "" || o.Kind == 0 || o.For == 0 {
			t.Errorf("%s lacks help, section, kind or presets", o.Name)
		}
		if strings.HasSuffix(o.Help, ".") || len(o.Help) > 120 {
			t.Errorf("the help of %s is no short phrase: %q", o.Name, o.Help)
		}
		if (o.Arg == "") != (o.Kind == config.KindBool) {
			t.Errorf("%s: booleans and only booleans have no word in the synopsis", o.Name)
		}
		if (o.Choices == nil) && o.Kind == config.KindChoice {
			t.Errorf("%s has no choices", o.Name)
		}
		if o.Fixed && len(o.Per) == 0 {
			t.Errorf("%s insists on nothing", o.Name)
		}
	}
}

func TestRowsStandInOrder(t *testing.T) {
	rows := config.Table()
	for i := 1; i < len(rows); i++ {
		if rows[i].Section == rows[i-1].Section && rows[i].Name < rows[i-1].Name {
			t.Errorf("%s stands behind %s", rows[i].Name, rows[i-1].Name)
		}
	}
	var sections []config.Section
	for _, o := range rows {
		if len(sections) == 0 || sections[len(sections)-1] != o.Section {
			if slices.Contains(sections, o.Section) && o.Section != config.SectionCommand {
				t.Errorf("section %s is split at %s", o.Section, o.Name)
			}
			sections = append(sections, o.Section)
		}
	}
}

// Each default must parse with its own kind, for each preset.
func TestDefaultsParse(t *testing.T) {
	for _, preset := range config.Presets() {
		v := config.Defaults(preset)
		for _, o := range config.Table() {
			switch o.Kind {
			case config.KindRule, config.KindInclude:
				continue
			}
			if got := v.Text(o.Name); got != o.DefaultFor(preset) {
				t.Errorf("%s for %s is %q, want %q", o.Name, preset, got, o.DefaultFor(preset))
			}
			if v.Set(o.Name) || v.Origin(o.Name) != config.OriginDefault {
				t.Errorf("%s for %s is said to be set", o.Name, preset)
			}
		}
	}
}

func TestDefaultsOfPresets(t *testing.T) {
	for _, c := range []struct {
		preset       config.Preset
		option, want string
	}{
		{config.Subscribe, "mirror", "off"}, {config.Sarra, "mirror", "on"}, {config.Sender, "mirror", "on"},
		{config.Subscribe, "accept_unmatch", "off"}, {config.Sarra, "accept_unmatch", "on"},
		{config.Poll, "accept_unmatch", "off"}, {config.Post, "accept_unmatch", "on"},
		{config.Winnow, "suppress_duplicates", "1200"}, {config.Post, "suppress_duplicates", "off"},
		{config.Winnow, "notify_only", "on"}, {config.Report, "topic_prefix", "v02.report"},
		{config.Sarra, "post_exchange", "xpublic"}, {config.Post, "post_exchange", ""},
		{config.Subscribe, "expire", "1d"}, {config.Subscribe, "retry_ttl", "2d"},
		{config.Post, "blocksize", "1"}, {config.Poll, "sum", "z,d"}, {config.Watch, "sleep", "0.1"},
		{config.Serve, "listen", "127.0.0.1:8000"},
		{config.Subscribe, "report_back", "on"}, {config.Sender, "report_back", "on"}, {config.Shovel, "report_back", "on"},
		{config.Winnow, "report_back", "on"}, {config.Sarra, "report_back", "off"}, {config.Report, "report_back", "off"},
		{config.Subscribe, "inplace", "on"}, {config.Sarra, "inplace", "off"}, {config.Poll, "file_time_limit", "60d"},
		{config.Post, "chmod_log", "0600"}, {config.Audit, "max_queue_size", "25000"}, {config.Subscribe, "queue_type", "classic"},
	} {
		if got := config.Defaults(c.preset).Text(c.option); got != c.want {
			t.Errorf("%s of %s is %q, want %q", c.option, c.preset, got, c.want)
		}
	}
}

// Asking for what the table does not hold, or as another kind, is a mistake
// of the program and must show at once.
func TestGettersPanic(t *testing.T) {
	v := config.Defaults(config.Post)
	for name, get := range map[string]func(){
		"unknown name": func() { v.Bool("mirorr") },
		"wrong kind":   func() { v.Int("mirror") },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			get()
		}()
	}
}

// Every option of v02 is in the table, under each of its names: a line of the
// list is a name and its aliases, which are one option.
func TestOptionsOfV02(t *testing.T) {
	data, err := os.ReadFile("testdata/v02_options.txt")
	if err != nil {
		t.Fatal(err)
	}
	owner := map[string]string{}
	for _, o := range config.Table() {
		for _, name := range append([]string{o.Name}, o.Aliases...) {
			owner[name] = o.Name
		}
	}
	for line := range strings.Lines(string(data)) {
		names := strings.Fields(line)
		for _, name := range names {
			got := owner[strings.ReplaceAll(name, "-", "_")]
			if got == "" || got != owner[names[0]] {
				t.Errorf("%s of %q is option %q", name, names[0], got)
			}
		}
	}
}
