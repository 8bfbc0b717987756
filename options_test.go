package srpump

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"srpump/pump/config"
)

// What the manual says of an option is what the program does: some line asks for the value of each
// that is said to have an effect, and none for one that is said to have none.
func TestOptionsAct(t *testing.T) {
	source := program(t)
	asked, named := make(map[string]bool), make(map[string]bool)
	for _, m := range regexp.MustCompile(`(\w*)\(?"([a-z_0-9]+)"`).FindAllStringSubmatch(source, -1) {
		named[m[2]] = true
		switch m[1] {
		case "Bool", "Int", "Size", "Duration", "Octal", "String", "List", "Set", "Text", "option":
			asked[m[2]] = true
		}
	}
	for _, o := range config.Table() {
		switch {
		case o.NoEffect && asked[o.Name]:
			t.Errorf("%s is said to have no effect, and something asks for it", o.Name)
		case !o.NoEffect && !named[o.Name] && o.Kind != config.KindInclude:
			t.Errorf("%s is said to have an effect, and nothing asks for it", o.Name)
		}
	}
}

// program is all Go source of the commands, without tests and without the table of options.
func program(t *testing.T) string {
	var all strings.Builder
	for _, room := range []string{"cmd", "partition", "pipeline", "post", "pump", "winnow"} {
		err := filepath.WalkDir(room, func(path string, d fs.DirEntry, err error) error {
			name := filepath.Base(path)
			if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "rows_") {
				return err
			}
			text, err := os.ReadFile(path)
			all.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}
