package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"srpump/pipeline/sfm/command"
	"srpump/pipeline/sfm/platform/apitest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"sfm_harvest": main})
}

// The dialogues of sfm_harvest(1), as a shell has them, with a Flickr to be asked.
func TestScripts(t *testing.T) {
	api := apitest.OpenFlickr(t)
	api.User("9@N01", "joe")
	api.Post("9@N01", 1, 2, 3)
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireUniqueNames: true, Setup: func(e *testscript.Env) error {
		e.Setenv("GORACE", "atexit_sleep_ms=0")
		e.Setenv("HOME", "") // nothing of it is needed
		e.Setenv("FLICKR", api.Base)
		return nil
	}})
}

// The page has every option of the help, and no other.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../man/sfm_harvest.1")
	if err != nil {
		t.Fatal(err)
	}
	words := func(pattern, text string) string {
		var out []string
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			out = append(out, m[1])
		}
		return strings.Join(out, " ")
	}
	_, options, _ := strings.Cut(string(page), "\n.Sh OPTIONS\n")
	options, _, _ = strings.Cut(options, "\n.Sh ")
	if got, want := words(`(?m)^\.It Fl (\w+)`, options), words(`(?m)^  -(\w+)`, command.Harvest{}.Help())+" h V"; got != want {
		t.Errorf("the page has the options %s, the program %s", got, want)
	}
}
