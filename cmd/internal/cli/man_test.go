package cli

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"srpump/pump/config"
)

// manual is the lines of a page below one heading.
func manual(t *testing.T, page, heading string) []string {
	t.Helper()
	data, err := os.ReadFile("../../../man/" + page)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(data), "\n.Sh "+heading+"\n")
	if !ok {
		t.Fatalf("%s has no %s", page, heading)
	}
	section, _, _ := strings.Cut(rest, "\n.Sh ")
	return strings.Split(strings.TrimSpace(section), "\n")
}

// The SYNOPSIS of each page is what -h prints.
func TestSynopsis(t *testing.T) {
	for _, p := range Commands() {
		words := []string{p.Program()}
		for _, l := range manual(t, p.Program()+".1", "SYNOPSIS")[1:] {
			w := strings.Fields(l)
			if w[0] != ".Op" || len(w) < 3 {
				t.Fatalf("%s: synopsis line %q", p.Program(), l)
			}
			words = append(words, "["+strings.Join(w[2:], " ")+"]")
		}
		if got := strings.Join(words, " "); got != Usage(p) {
			t.Errorf("the page says %q, the program %q", got, Usage(p))
		}
	}
}

// The EXIT STATUS of each page, and of that of all commands, is the table.
func TestExitStatusTable(t *testing.T) {
	var want []string
	statuses := ExitStatuses()
	for _, n := range slices.Sorted(maps.Keys(statuses)) {
		want = append(want, fmt.Sprintf(".It %d", n), statuses[n])
	}
	pages := []string{"srpump.1"}
	for _, p := range Commands() {
		pages = append(pages, p.Program()+".1")
	}
	for _, page := range pages {
		lines := manual(t, page, "EXIT STATUS")
		if got := lines[1 : len(lines)-1]; !slices.Equal(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", page, got, want)
		}
	}
}

// The options a page explains are options of that command.
func TestPagesExplainOwnOptions(t *testing.T) {
	for _, p := range Commands() {
		for _, l := range manual(t, p.Program()+".1", "OPTIONS") {
			if !strings.HasPrefix(l, ".It Fl ") {
				continue
			}
			for _, f := range strings.Split(l, "Fl ")[1:] {
				name := strings.Fields(f)[0]
				if !takes(p, name) {
					t.Errorf("%s.1 explains -%s, which has no effect on it", p.Program(), name)
				}
			}
		}
	}
}

func takes(p config.Preset, name string) bool {
	return slices.ContainsFunc(config.Table(), func(o config.Option) bool {
		return o.Applies(p) && (o.Name == name || slices.Contains(o.Aliases, name))
	})
}
