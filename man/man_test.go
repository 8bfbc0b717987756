package man

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"srpump/pump/config"
)

// mandoc finds nothing to complain about.
func TestLint(t *testing.T) {
	mandoc, err := exec.LookPath("mandoc")
	if err != nil {
		if os.Getenv("SRPUMP_REQUIRE") == "1" {
			t.Fatal("mandoc is not installed")
		}
		t.Skip("mandoc is not installed")
	}
	files, _ := filepath.Glob("*.[1-8]")
	out, err := exec.Command(mandoc, append([]string{"-T", "lint"}, files...)...).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}

// Every page another one refers to is here. The two introductions, srpump(1) and srpump(7),
// refer to all others, and all others to one of them.
func TestReferences(t *testing.T) {
	all := pages(t)
	var names []string
	for _, p := range all {
		names = append(names, p.name)
	}
	for _, p := range all {
		seen := make(map[string]bool)
		for _, l := range p.lines {
			f := strings.Fields(l)
			for i, w := range f {
				if strings.TrimPrefix(w, ".") != "Xr" || !strings.HasPrefix(l, ".") || i+2 >= len(f) {
					continue
				}
				name := f[i+1] + "(" + f[i+2] + ")"
				seen[name] = true
				if !slices.Contains(names, name) {
					t.Errorf("%s refers to %s, which is not ours", p.file, name)
				}
			}
		}
		if intro := strings.HasPrefix(p.name, "srpump("); intro && len(seen) != len(names)-1 {
			t.Errorf("%s refers to %d of the %d other pages", p.file, len(seen), len(names)-1)
		} else if !intro && !seen["srpump(1)"] && !seen["srpump(7)"] {
			t.Errorf("%s refers to no introduction", p.file)
		}
	}
}

// commands are those this release ships, in the order of the table.
func commands() []config.Preset {
	return []config.Preset{config.Post, config.Watch, config.Poll, config.Winnow, config.Shovel, config.Sarra, config.Subscribe, config.Sender, config.Report, config.Serve, config.Audit, config.Spool}
}

// Each row of the option table has its entry, with its argument, aliases, default
// and commands, and no entry is without a row.
func TestOptions(t *testing.T) {
	entries := optionEntries(t)
	for _, o := range config.Table() {
		got, there := entries[o.Name]
		delete(entries, o.Name)
		want := facts(o)
		if !there {
			t.Errorf("no entry for %s: %s", o.Name, want)
		} else if got != want {
			t.Errorf("%s:\n got %s\nwant %s", o.Name, got, want)
		}
	}
	for name := range entries {
		t.Errorf("%s is described and not an option", name)
	}
}

// optionEntries are the heads of the entries of sr_options.5, by option; an entry must say
// something as well.
func optionEntries(t *testing.T) map[string]string {
	out := make(map[string]string)
	lines := find(t, "sr_options(5)").lines
	for i, l := range lines {
		head, ok := strings.CutPrefix(l, ".It Ic ")
		if !ok {
			continue
		}
		name, arg, _ := strings.Cut(head, " Ar ")
		end := i + 1 + slices.Index(lines[i+1:], ".Pp")
		out[name] = strings.TrimSpace("(" + arg + ") " + plain(lines[i+1:end]))
		if strings.HasPrefix(lines[end+1], ".It") || strings.HasPrefix(lines[end+1], ".El") {
			t.Errorf("the entry of %s says nothing", name)
		}
	}
	return out
}

// facts are what the head of an entry must say.
func facts(o config.Option) string {
	s := "(" + o.Arg + ") "
	if len(o.Aliases) > 0 {
		s += "Aliases: " + strings.Join(o.Aliases, ", ") + ". "
	}
	var values []string
	users := make(map[string]config.Preset)
	for _, p := range config.Presets() {
		v := o.DefaultFor(p)
		if v == "" {
			v = "none"
		}
		if !o.Applies(p) {
			continue
		}
		if users[v] == 0 {
			values = append(values, v)
		}
		users[v] |= p
	}
	if len(values) > 1 {
		for i, v := range values {
			values[i] = v + " for " + who(users[v])
		}
	}
	s += "Default: " + strings.Join(values, ", ") + ". Commands: " + who(o.For) + "."
	if o.NoEffect {
		s += " No effect."
	}
	return s
}

// who names commands in the words that sr_options.5 explains under Commands.
func who(set config.Preset) string {
	var names []string
	rest := set
	for _, group := range []struct {
		name string
		of   config.Preset
	}{
		{"all", config.Post | config.Watch | config.Poll | config.Subscribe | config.Sarra | config.Sender |
			config.Winnow | config.Shovel | config.Report | config.Serve | config.Audit | config.Spool},
		{"posters", config.Post | config.Watch | config.Poll},
		{"consumers", config.Subscribe | config.Sarra | config.Sender | config.Winnow | config.Shovel | config.Report},
		{"fetchers", config.Subscribe | config.Sarra | config.Sender},
	} {
		if rest&group.of == group.of {
			names, rest = append(names, group.name), rest&^group.of
		}
	}
	for _, p := range config.Presets() {
		if rest&p != 0 {
			names = append(names, p.Program())
		}
	}
	return strings.Join(names, ", ")
}

// The configurations of the examples can be used as they are, with the default.conf beside
// their components: no problem is reported.
func TestExamplesLoad(t *testing.T) {
	files, err := filepath.Glob("../examples/*/*/*.conf")
	if err != nil || len(files) < 5 {
		t.Fatalf("only %d configurations in examples: %v", len(files), err)
	}
	for _, f := range files {
		component := filepath.Base(filepath.Dir(f))
		i := slices.IndexFunc(config.Presets(), func(p config.Preset) bool { return p.String() == component })
		if i < 0 {
			t.Errorf("%s: %q is no command", f, component)
			continue
		}
		path, err := filepath.Abs(f)
		if err != nil {
			t.Fatal(err)
		}
		home := t.TempDir()
		if err := withDefaults(home, filepath.Join(filepath.Dir(f), "../default.conf")); err != nil {
			t.Fatal(err)
		}
		env := config.Env{Home: home, Cwd: home, Hostname: "pump.example", RandID: "0000",
			Lookup: func(name string) (string, bool) { return map[string]string{"HOME": home}[name], name == "HOME" }}
		_, problems := config.Load(config.Request{Env: env, Preset: config.Presets()[i], ConfigArg: path,
			Args: [][]string{{"unknown_options", "error"}}})
		for _, p := range problems {
			t.Errorf("%s", p)
		}
	}
}

// withDefaults puts a default.conf, if there is one, into a home.
func withDefaults(home, file string) error {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	dir := filepath.Join(home, ".config/sarra")
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "default.conf"), text, 0o600)
	}
	return err
}
