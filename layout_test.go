package srpump

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The map of the house: what each room may import of ours. Imports go down only.
var mayImport = map[string][]string{
	"examples":               {},
	"partition":              {},
	"post":                   {"partition"},
	"post/watch":             {"post"},
	"winnow":                 {"post", "partition"},
	"pump/config":            {},
	"pump/broker":            {},
	"pump/manage":            {},
	"pump/audit":             {"pump/config", "pump/manage"},
	"pump/broker/amqp":       {"pump/broker"},
	"pump/broker/sqlite":     {"pump/broker"},
	"pump/broker/pipe":       {"pump/broker"},
	"pump/broker/brokertest": {"pump/broker"},
	"pump/transfer":          {"partition"},
	"pump/transfer/ftp":      {"pump/transfer"},
	"pump/transfer/sftp":     {"pump/transfer"},
	"pump/serve":             {},
	"pump/fetch":             {"partition", "post", "pump/transfer"},
	"pump/retry":             {"partition", "post"},
	"pump/send":              {"partition", "post", "pump/transfer"},
	"pump/keep":              {},
	"pump/blocks":            {"partition", "post", "pump/retry"},
	"pump/hook":              {"partition", "post", "pump/config"},
	"pump/poll":              {"pump/transfer"},
	"pump/daemon":            {"pump/config"},
	"pump/adopt":             {"partition", "post", "winnow", "pump/config", "pump/daemon", "pump/retry"},
	"pump": {"partition", "post", "post/watch", "winnow", "pump/config", "pump/broker", "pump/broker/amqp", "pump/broker/sqlite",
		"pump/broker/pipe", "pump/transfer", "pump/transfer/ftp", "pump/transfer/sftp", "pump/fetch", "pump/send", "pump/retry", "pump/keep", "pump/blocks", "pump/poll", "pump/hook"},
	"pipeline/warc":         {},
	"pipeline/warc/command": {"pipeline/warc"},
	"pipeline/news":         {"pipeline/warc"},
	"pipeline/spool":        {"partition", "post", "pump/broker", "pump/config", "pump/daemon"},
	"pipeline/sfm/mirror":   {"post", "pipeline/sfm"},
	"pipeline/sfm/outbox":   {"pump/broker", "pipeline/spool"},
	"pipeline/sfm":          {},
	"pipeline/sfm/items":    {"pipeline/sfm", "pipeline/warc"},
	"pipeline/sfm/platform": {"pipeline/warc", "pipeline/sfm", "pipeline/sfm/harvest"},
	"pipeline/sfm/harvest":  {"partition", "post", "pump/broker", "pipeline/spool", "pipeline/warc", "pipeline/sfm", "pipeline/sfm/items", "pipeline/sfm/outbox"},
	"pipeline/sfm/command": {"post", "pump/broker", "pipeline/spool", "pipeline/warc", "pipeline/sfm", "pipeline/sfm/items", "pipeline/sfm/harvest",
		"pipeline/sfm/mirror", "pipeline/sfm/outbox", "pipeline/sfm/platform", "pipeline/sfm/export"},
	"pipeline/sfm/export":    {"pipeline/spool", "pipeline/warc", "pipeline/sfm", "pipeline/sfm/items"},
	"cmd/internal/pipelines": {"pump", "pump/broker", "pump/config", "pump/daemon", "pipeline/spool"},
	"cmd/internal/cli":       {"pump", "pump/adopt", "pump/audit", "pump/manage", "pump/config", "pump/broker", "pump/daemon", "pump/serve", "winnow", "pump/retry", "examples"},
}

// Rooms that are for tests; anybody's tests may use them, nobody's program.
var testRooms = []string{"test", "man", "pump/transfer/transfertest", "pipeline/sfm/platform/apitest"}

// What must not be touched outside of the room that is for it.
var onlyIn = map[string]string{
	"os.Args": "cmd/", "os.Exit": "cmd/", "os.Stderr": "cmd/", "os.Stdout": "cmd/", "os.Stdin": "cmd/",
}

func TestLayout(t *testing.T) {
	rooms := make(map[string]bool)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != "." || d.IsDir() && strings.HasPrefix(d.Name(), "demo-") {
			if err == nil {
				return filepath.SkipDir
			}
			return err
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") && filepath.Dir(path) != "." {
			rooms[filepath.Dir(path)] = true
			checkFile(t, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for room := range mayImport {
		if !rooms[room] {
			t.Errorf("room %s of the map does not exist", room)
		}
	}
}

func checkFile(t *testing.T, path string) {
	room := filepath.Dir(path)
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	allowed, known := mayImport[room]
	free := isTestRoom(room) || strings.HasPrefix(room, "cmd/") && !strings.HasPrefix(room, "cmd/internal")
	if !known && !free {
		t.Errorf("%s: room %s is not on the map", path, room)
	}
	for _, imp := range file.Imports {
		name, _ := strconv.Unquote(imp.Path.Value)
		ours, ok := strings.CutPrefix(name, "srpump/")
		if !ok || free {
			continue
		}
		if !contains(allowed, ours) {
			t.Errorf("%s imports %s, which %s must not know", path, ours, room)
		}
	}
	checkTouch(t, path, room)
}

func checkTouch(t *testing.T, path, room string) {
	if isTestRoom(room) {
		return
	}
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(src), "\n"); n > 500 {
		t.Errorf("%s has %d lines: it holds two subjects", path, n)
	}
	for what, where := range onlyIn {
		if strings.Contains(string(src), what) && !strings.HasPrefix(room, strings.TrimSuffix(where, "/")) {
			t.Errorf("%s touches %s, which is for %s", path, what, where)
		}
	}
}

func isTestRoom(room string) bool {
	for _, r := range testRooms {
		if room == r || strings.HasPrefix(room, r+"/") {
			return true
		}
	}
	return false
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}
