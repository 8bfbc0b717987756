package pump

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// A testFilter is the filter of a stage: this test program, called again. What it does with a file stands in
// the file.
type testFilter struct {
	dir    string // of outputs
	pack   int    // inputs to an output; 1 is an output for each
	window int    // of the greeting; 0 is none
	held   []testInput
	seen   map[string]int
	linger bool // at the end of its input
}

type testInput struct {
	ID      int64          `json:"id"`
	Path    string         `json:"path"`
	URL     string         `json:"url"`
	RelPath string         `json:"relpath"`
	Size    int64          `json:"size"`
	Sum     string         `json:"sum"`
	Headers map[string]any `json:"headers"`
	Again   bool           `json:"again"`

	content string
}

// runTestFilter is the program: stage-filter DIR PACK WINDOW.
func runTestFilter(args []string) {
	f := &testFilter{dir: args[0], seen: map[string]int{}}
	f.pack, _ = strconv.Atoi(args[1])
	f.window, _ = strconv.Atoi(args[2])
	if f.window > 0 {
		say(map[string]any{"version": 1, "window": f.window})
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var i testInput
		if err := json.Unmarshal(in.Bytes(), &i); err != nil {
			os.Exit(3)
		}
		f.take(i)
	}
	f.flush()
	if f.linger {
		syscall.Pause()
	}
}

func say(line any) {
	b, _ := json.Marshal(line)
	os.Stdout.Write(append(b, '\n'))
}

// take does what the file says.
func (f *testFilter) take(i testInput) {
	if i.Path == "" {
		say(map[string]any{"drop": i.ID, "why": "it is at " + i.URL})
		return
	}
	raw, err := os.ReadFile(i.Path)
	if err != nil {
		say(map[string]any{"retry": i.ID, "why": "it cannot be read"})
		return
	}
	f.seen[i.RelPath]++
	word, rest, _ := strings.Cut(string(raw), " ")
	ok := map[string]any{"ok": []int64{i.ID}}
	switch word {
	case "drop", "retry", "fault":
		say(map[string]any{word: i.ID, "why": "for a\x1b[2m reason"})
	case "later":
		if f.seen[i.RelPath] == 1 {
			say(map[string]any{"retry": i.ID, "why": "not yet"})
			return
		}
		say(ok)
	case "die":
		os.Exit(9)
	case "hang":
		syscall.Pause()
	case "linger":
		f.linger = true
		f.packed(i, string(raw))
	case "garbage":
		fmt.Println("what is this?")
	case "unknown":
		say(map[string]any{"ok": []int64{i.ID + 1000}})
	case "twice":
		say(map[string]any{"ok": []int64{i.ID, i.ID}})
	case "long":
		fmt.Println(strings.Repeat("x", 2<<20))
	case "flood":
		for {
			say(map[string]any{"out": f.write(i.RelPath+".flood", "x"), "for": []int64{i.ID}})
		}
	case "say":
		say(map[string]any{"out": rest})
		say(ok)
	case "headers":
		b, _ := json.Marshal(i.Headers)
		f.packed(i, string(b))
	case "many":
		n, _ := strconv.Atoi(rest)
		for k := range n {
			say(map[string]any{"out": f.write(fmt.Sprintf("%s.%d", i.RelPath, k), fmt.Sprint(rest, k)), "headers": map[string]any{"part": k, "x_of": i.RelPath}})
		}
		say(ok)
	default:
		f.packed(i, string(raw))
	}
}

// write makes a file below the directory of outputs.
func (f *testFilter) write(rel, content string) string {
	full := filepath.Join(f.dir, rel)
	os.MkdirAll(filepath.Dir(full), 0o755)
	tmp := fmt.Sprintf("%s.%d", full, os.Getpid())
	if os.WriteFile(tmp, []byte(content), 0o644) != nil || os.Rename(tmp, full) != nil {
		os.Exit(4)
	}
	return full
}

// packed puts inputs together, so many to an output.
func (f *testFilter) packed(i testInput, content string) {
	i.content = content
	f.held = append(f.held, i)
	if len(f.held) >= f.pack {
		f.flush()
	}
}

func (f *testFilter) flush() {
	if len(f.held) == 0 {
		return
	}
	var all strings.Builder
	var done []int64
	for _, i := range f.held {
		fmt.Fprintf(&all, "%s %s\n", i.RelPath, i.content)
		done = append(done, i.ID)
	}
	say(map[string]any{"out": f.write(f.held[0].RelPath+".made", all.String()), "for": done})
	for k := len(done) - 1; k >= 0; k-- { // the last first
		say(map[string]any{"ok": done[k]})
	}
	f.held = nil
}
