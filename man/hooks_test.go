package man

import (
	"slices"
	"strings"
	"testing"

	"srpump/pump/config"
)

// Each hook that is built in has its entry in sr_hooks(7), with where it works, its options and their
// defaults, and no entry is without a hook.
func TestBuiltins(t *testing.T) {
	entries := builtinEntries(t)
	for _, b := range config.Builtins() {
		got, there := entries[b.Name]
		delete(entries, b.Name)
		if want := builtinFacts(b); !there {
			t.Errorf("no entry for %s: %s", b.Name, want)
		} else if got != want {
			t.Errorf("%s:\n got %s\nwant %s", b.Name, got, want)
		}
	}
	for name := range entries {
		t.Errorf("%s is described and not built in", name)
	}
}

func builtinEntries(t *testing.T) map[string]string {
	out := make(map[string]string)
	lines := find(t, "sr_hooks(7)").section("BUILT IN")
	for i, l := range lines {
		name, ok := strings.CutPrefix(l, ".It Cm ")
		if !ok {
			continue
		}
		end := i + 1 + slices.Index(lines[i+1:], ".Pp")
		out[name] = strings.NewReplacer(" Ar ", " ", `\-`, "-").Replace(plain(lines[i+1 : end]))
		if strings.HasPrefix(lines[end+1], ".It") || strings.HasPrefix(lines[end+1], ".El") {
			t.Errorf("the entry of %s says nothing", name)
		}
	}
	return out
}

// builtinFacts are what the head of an entry must say.
func builtinFacts(b config.Builtin) string {
	s := "At " + strings.Join(b.Points, ", ") + "."
	if len(b.Also) > 0 {
		s += " Also named with " + strings.Join(b.Also, ", ") + "."
	}
	for _, o := range b.Options {
		s += " Option: " + o.Name + " " + o.Arg
		if o.Default != "" {
			s += ", default: " + o.Default
		}
		s += "."
	}
	return s
}
