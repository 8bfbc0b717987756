package fetch

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"sync"
	"testing"

	"srpump/pump/transfer"
)

const killFiles = 200

// killData is the content of a file, made from its name; some take several writes.
func killData(name string) []byte {
	n := 50
	if name[len(name)-1] == '7' {
		n = 40_000
	}
	return bytes.Repeat([]byte(name+"\n"), n)
}

// TestKilled is what the parent kills: it fetches every file twice over and
// prints the name of each that is installed.
func TestKilled(t *testing.T) {
	dir, url := os.Getenv("SRPUMP_KILL_DIR"), os.Getenv("SRPUMP_KILL_URL")
	if dir == "" {
		t.Skip("run by TestKill")
	}
	tree, err := OpenTree(dir, TreeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	in := NewInstaller(InstallerOptions{})
	g := transfer.NewHTTP(transfer.HTTPOptions{Workers: 4})
	var out sync.Mutex
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := w; i < 2*killFiles; i += 4 {
				name := fmt.Sprintf("d%d/file%d", i%5, i%killFiles)
				data := killData(path.Base(name))
				s, err := Fetch(t.Context(), Job{Source: g, Request: transfer.Whole(url + "/" + name), Tree: tree, Path: name, Tag: "kill", Size: int64(len(data)), Sum: md5Of(data)})
				if err != nil {
					t.Error(err)
					return
				}
				if err := await(func(d func(error)) { in.Install(s, d) }); err != nil {
					t.Error(err)
				}
				out.Lock()
				fmt.Println(name)
				out.Unlock()
			}
		})
	}
	wg.Wait()
	in.Close()
}

// TestKill kills it with SIGKILL after some files: every file it reported is
// there and no file is wrong, and the next run finishes and leaves no litter.
func TestKill(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(killData(path.Base(r.URL.Path)))
	}))
	defer s.Close()
	dir := filepath.Join(t.TempDir(), "d")
	for _, after := range []int{0, 1, 60, 199, 250, 2 * killFiles} {
		for _, name := range runAndKill(t, dir, s.URL, after) {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				t.Errorf("it was reported installed: %v", err)
			}
		}
		for i := range killFiles {
			name := fmt.Sprintf("d%d/file%d", i%5, i)
			got, err := os.ReadFile(filepath.Join(dir, name))
			if err == nil && !bytes.Equal(got, killData(path.Base(name))) {
				t.Errorf("killed after %d: %s holds %d wrong bytes", after, name, len(got))
			}
		}
	}
	found, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	hidden, err2 := filepath.Glob(filepath.Join(dir, "*", ".*"))
	if len(found) != killFiles || len(hidden) != 0 || err != nil || err2 != nil {
		t.Errorf("%d files and %d left-overs, want %d and none", len(found), len(hidden), killFiles)
	}
}

// runAndKill returns the names that were reported before the end.
func runAndKill(t *testing.T, dir, url string, after int) (names []string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
	cmd.Env = append(os.Environ(), "SRPUMP_KILL_DIR="+dir, "SRPUMP_KILL_URL="+url)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for len(names) < after && lines.Scan() {
		names = append(names, lines.Text())
	}
	if after < 2*killFiles {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return names
	}
	for lines.Scan() {
		if lines.Text() != "PASS" {
			t.Logf("%s", lines.Text())
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the last run: %v", err)
	}
	return names
}
