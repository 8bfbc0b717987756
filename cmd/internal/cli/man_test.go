package cli

import (
	"flag"
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

var update = flag.Bool("update", false, "write the Actions of the pages anew")

// The Actions of each page are the rows of the table; -update makes them so.
func TestActionsInPages(t *testing.T) {
	for _, p := range Commands() {
		var rows []string
		for _, r := range actionWords(p) {
			rows = append(rows, mdocItem(r[0]), upperFirst(r[1])+".")
		}
		checkActions(t, p.Program()+".1", rows)
	}
	var rows []string
	for _, a := range hostActions() {
		words := a.name
		for _, f := range a.flags {
			words += " [--" + f + "]"
		}
		rows = append(rows, mdocItem(words+" "+a.args), upperFirst(a.help)+".")
	}
	checkActions(t, "sr.1", rows)
}

// checkActions compares the list of a page's Actions; a command without any has none.
func checkActions(t *testing.T, page string, rows []string) {
	t.Helper()
	if len(rows) == 0 {
		return
	}
	path := "../../../man/" + page
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(data), "\n.Ss Actions\n")
	section, tail, closed := strings.Cut(rest, ".El\n")
	before, list, begun := strings.Cut(section, ".Bl -tag -width Ds\n")
	if !ok || !closed || !begun || strings.Contains(section, "\n.S") {
		t.Fatalf("%s has no list of Actions", page)
	}
	want := strings.Join(rows, "\n") + "\n"
	if list == want {
		return
	}
	if !*update {
		t.Errorf("%s: the Actions are not those of the table; go test ./cmd/internal/cli -run TestActionsInPages -update makes them so:\n%s", page, want)
		return
	}
	text := head + "\n.Ss Actions\n" + before + ".Bl -tag -width Ds\n" + want + ".El\n" + tail
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// mdocItem is ".It Cm name Op Ar argument" for a synopsis.
func mdocItem(words string) string {
	item := ".It"
	macro := "Cm"
	for _, w := range strings.Fields(words) {
		if w == "...]" || w == "..." {
			item += " ..."
			continue
		}
		w, optional := strings.CutPrefix(w, "[")
		if optional {
			item += " Op"
			w = strings.TrimSuffix(w, "]")
		}
		if name, ok := strings.CutPrefix(w, "-"); ok {
			item += " Fl " + name
		} else {
			item += " " + macro + " " + w
		}
		macro = "Ar"
	}
	return item
}

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// The SYNOPSIS of sr(1) is what sr -h prints.
func TestHostSynopsis(t *testing.T) {
	got := "sr"
	for _, l := range manual(t, "sr.1", "SYNOPSIS")[1:] {
		optional, words, _ := strings.Cut(l, "Ar ")
		if optional == ".Op " {
			words = "[" + words + "]"
		}
		got += " " + words
	}
	if got != HostUsage() {
		t.Errorf("the page says %q, the program %q", got, HostUsage())
	}
}

// The EXIT STATUS of each page, and of that of all commands, is the table.
func TestExitStatusTable(t *testing.T) {
	var want []string
	statuses := ExitStatuses()
	for _, n := range slices.Sorted(maps.Keys(statuses)) {
		want = append(want, fmt.Sprintf(".It %d", n), statuses[n])
	}
	pages := []string{"srpump.1", "sr.1", saveCommand + ".1"}
	for _, p := range Commands() {
		pages = append(pages, p.Program()+".1")
	}
	for _, page := range pages {
		lines := manual(t, page, "EXIT STATUS")
		if got := lines[slices.Index(lines, ".Bl -tag -width Ds")+1 : len(lines)-1]; !slices.Equal(got, want) {
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
