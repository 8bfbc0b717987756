package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"srpump/pipeline/warc/command"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"warc": main})
}

// The dialogues of warc(1), as a shell has them.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireUniqueNames: true, Setup: func(e *testscript.Env) error {
		e.Setenv("GORACE", "atexit_sleep_ms=0")
		e.Setenv("HOME", "") // nothing of it is needed
		golden, err := os.ReadFile("../../pipeline/warc/testdata/golden.warc.gz")
		if err != nil {
			return err
		}
		return os.WriteFile(e.WorkDir+"/golden.warc.gz", golden, 0o644)
	}})
}

// The page has every verb and option of the help, and no other.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../man/warc.1")
	if err != nil {
		t.Fatal(err)
	}
	help := command.Command{}.Help()
	words := func(pattern, text string) string {
		var out []string
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			out = append(out, m[1])
		}
		return strings.Join(out, " ")
	}
	_, options, _ := strings.Cut(string(page), "\n.Sh OPTIONS\n")
	options, _, _ = strings.Cut(options, "\n.Sh ")
	if got, want := words(`(?m)^\.It Fl (\w+)`, options), "h V "+words(`(?m)^  -(\w+)`, help); got != want {
		t.Errorf("the page has the options %s, the program %s", got, want)
	}
	synopsis, _, _ := strings.Cut(string(page), "\n.Sh DESCRIPTION\n")
	if got, want := words(`(?m)^\.Cm (\w+)`, synopsis), words(`(?m)^(?:usage:|      ) warc (\w+)`, help); got != want || want == "" {
		t.Errorf("the page has the verbs %q, the program %q", got, want)
	}
}
