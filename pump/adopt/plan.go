package adopt

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"srpump/pump/config"
	"srpump/pump/daemon"
)

// Plan reads all configurations of the user and the state they keep, and says
// what becomes of each file. It changes nothing.
func Plan(env config.Env) ([]Item, error) {
	var items []Item
	for _, preset := range config.Presets() {
		list, err := config.List(env, preset)
		if err != nil {
			return nil, fmt.Errorf("cannot plan: %w", err)
		}
		for _, l := range list {
			if l.Include {
				continue
			}
			if l.Disabled {
				items = append(items, Item{Path: l.Path, Verdict: AsIs, Text: "disabled"})
				continue
			}
			cfg, problems := config.Load(config.Request{Env: env, Preset: preset, ConfigArg: l.Path})
			items = append(items, configuration(cfg, problems)...)
			items = append(items, state(cfg, config.Failed(problems))...)
		}
	}
	return items, nil
}

// configuration judges the file itself: an error refuses it, all else is told
// in one item for each difference.
func configuration(cfg *config.Config, problems []config.Problem) []Item {
	var items []Item
	for _, p := range problems {
		v := Changes
		if p.Severity == config.Error {
			v = Refused
		}
		text := p.String()
		if p.File == cfg.Path && p.Line > 0 {
			text = fmt.Sprintf("line %d: %s", p.Line, p.Text)
		}
		items = append(items, Item{Path: cfg.Path, Verdict: v, Text: strings.TrimSuffix(text+"; "+p.Hint, "; ")})
	}
	if names := cfg.NoEffect(); len(names) > 0 {
		items = append(items, Item{Path: cfg.Path, Verdict: Changes, Text: "without effect: " + strings.Join(names, ", ")})
	}
	if cfg.Values.Set("retry_ttl") {
		items = append(items, Item{Path: cfg.Path, Verdict: Changes,
			Text: fmt.Sprintf("retry_ttl %s is what it says; v02 took a thousandth of it", cfg.Values.Duration("retry_ttl"))})
	}
	if len(items) == 0 {
		items = append(items, Item{Path: cfg.Path, Verdict: AsIs})
	}
	return items
}

// state lists what v02 keeps for one configuration. That of one that is refused is left, as
// v02 may have to go on with it.
func state(cfg *config.Config, refused bool) []Item {
	var items []Item
	dir := cfg.State().Dir()
	for _, k := range []struct {
		files   []string
		verdict Verdict
		kind    kind
		text    string
	}{
		{matching(dir, "*.qname"), AsIs, none, "the queue keeps its name"},
		{matching(dir, "recent_files_*.cache"), Imports, cache, "fingerprints go to the winnowing cache"},
		{retryFiles(dir), Imports, retries, "announcements go to the retry queue"},
		{matching(dir, "*.save"), AsIs, none, "read by restore"},
	} {
		slices.Sort(k.files)
		for _, path := range k.files {
			i := Item{Path: path, Verdict: k.verdict, Text: k.text, cfg: cfg, kind: k.kind}
			if refused && i.Verdict == Imports {
				i.Verdict, i.Text = Refused, "left as it is, as its configuration is refused"
			}
			items = append(items, busy(cfg, i))
		}
	}
	return items
}

// matching are the files of a directory, whatever that is called, whose names match.
func matching(dir, pattern string) []string {
	escaped := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(dir)
	found, _ := filepath.Glob(filepath.Join(escaped, pattern))
	return found
}

// busy refuses what a process of the flow may still be writing.
func busy(cfg *config.Config, i Item) Item {
	if pid, found := daemon.Stranger(cfg.State()); found && i.Verdict == Imports {
		i.Verdict, i.Text = Refused, fmt.Sprintf("process %d runs %s %s: stop it first", pid, cfg.Preset.Program(), cfg.Name)
	}
	return i
}
