package adopt_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"srpump/partition"
	"srpump/post"
	"srpump/pump/adopt"
	"srpump/pump/config"
	"srpump/pump/retry"
	"srpump/winnow"
)

// host is the home of a v02 host.
func host(t *testing.T, files map[string]string) config.Env {
	t.Helper()
	home := t.TempDir()
	for name, content := range files {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return config.Env{Home: home, Cwd: home, Hostname: "h.example.org", RandID: "0000"}
}

func line(rel, tag string) string {
	return fmt.Sprintf(`["v02.post.a", {%s"parts": "1,12,1,0,0", "sum": "d,aa%s"}, "20261121000000.1 http://h/ /a/%s"]`+"\n", tag, rel, rel)
}

const (
	stateDir = ".cache/sarra/winnow/w/"
	retryDir = ".cache/sarra/subscribe/s/"
)

func v02(now time.Time) map[string]string {
	return map[string]string{
		".config/sarra/winnow/w.conf":              "broker amqp://u:p@h/\nbufsize 2M\n",
		".config/sarra/subscribe/s.conf":           "broker amqp://u:p@h/\n",
		".config/sarra/sarra/x.conf":               "on_message filter.py\n",
		stateDir + "sr_winnow.w.u.qname":           "q_u.sr_winnow.w",
		stateDir + "recent_files_001.cache":        fmt.Sprintf("d,aa %d.5 a/f%%201 1,12,1,0,0\nd,old %d.0 a/f2 1,12,1,0,0\nbroken\n", now.Unix()-60, now.Unix()-5000),
		stateDir + "recent_files_002.cache":        "d,cc " + now.Add(-time.Minute).UTC().Format("20060102150405") + ".12 a/f 3%20 1,12,1,0,0\n",
		retryDir + "sr_subscribe_s_01.retry":       line("one", "") + line("two", ""),
		retryDir + "sr_subscribe_s_01.retry.state": line("one", `"_retry_tag_": "done", `),
		retryDir + "sr_subscribe_s_01.retry.bak":   line("four", ""),
		retryDir + "sr_subscribe_s_01.retry.new":   line("three", "") + "garbage\n",
	}
}

func apply(t *testing.T, env config.Env, now time.Time) []adopt.Item {
	t.Helper()
	items, err := adopt.Apply(context.Background(), env, slog.New(slog.DiscardHandler), now)
	if err != nil {
		t.Fatal(err)
	}
	return items
}

func TestPlanSaysWhatBecomesOfEachFile(t *testing.T) {
	env := host(t, v02(time.Now()))
	items, err := adopt.Plan(env)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, i := range items {
		said = append(said, fmt.Sprintf("%s %s: %s", filepath.Base(i.Path), i.Verdict, i.Text))
	}
	all := strings.Join(said, "\n")
	for _, want := range []string{"w.conf changes: without effect: bufsize", "s.conf as is", `x.conf refused: `, "plugins in Python are not run",
		"sr_winnow.w.u.qname as is", "recent_files_001.cache imports", "sr_subscribe_s_01.retry.new imports"} {
		if !strings.Contains(all, want) {
			t.Errorf("nothing says %q:\n%s", want, all)
		}
	}
}

// What was remembered and what was to be tried again is so after any number of
// runs, once.
func TestApply(t *testing.T) {
	now := time.Now()
	env := host(t, v02(now))
	apply(t, env, now)
	for name, content := range v02(now) { // as if killed before the renames
		if err := os.WriteFile(filepath.Join(env.Home, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	apply(t, env, now)
	for _, i := range apply(t, env, now) {
		if i.Verdict == adopt.Imports {
			t.Errorf("%s is still to be imported", i.Path)
		}
	}
	c, err := winnow.Open(winnow.Options{Mode: winnow.Many, TTL: 20 * time.Minute, Dir: filepath.Join(env.Home, stateDir, "winnow"), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for path, want := range map[string]winnow.Verdict{"a/f 1": winnow.Duplicate, "a/f2": winnow.Fresh, "a/f 3%20": winnow.Duplicate} {
		sum := map[string]string{"a/f 1": "d,aa", "a/f2": "d,old", "a/f 3%20": "d,cc"}[path]
		f, _ := post.ParseSum(sum)
		if v, _ := c.Offer(&post.Announcement{Time: post.At(now), Path: path, Sum: f, Block: partition.WholeFile(12)}); v != want {
			t.Errorf("%s is %s, want %s", path, v, want)
		}
	}
	q, err := retry.Open(filepath.Join(env.Home, retryDir), retry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	if q.Len() != 2 || q.Pending("/a/one") {
		t.Errorf("%d announcements wait, want two and three", q.Len())
	}
}

// What a Python instance may still write is left alone.
func TestRunningInstanceIsLeftAlone(t *testing.T) {
	now := time.Now()
	env := host(t, v02(now))
	cmd := exec.Command("sh", "-c", "read x", "python3", "/usr/bin/sr_subscribe", "--no", "1", "start", "s")
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer stdin.Close()
	pid := filepath.Join(env.Home, retryDir, "sr_subscribe_s_01.pid")
	if err := os.WriteFile(pid, []byte(fmt.Sprint(cmd.Process.Pid)), 0o600); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for _, i := range apply(t, env, now) {
		if i.Verdict == adopt.Refused && strings.Contains(i.Path, ".retry") {
			refused++
		}
	}
	if _, err := os.Stat(filepath.Join(env.Home, retryDir, "sr_subscribe_s_01.retry")); err != nil || refused != 3 {
		t.Errorf("%d files refused, want 3 (%v)", refused, err)
	}
}

// What v02 has to go on with is left to it.
func TestStateOfARefusedConfigurationIsLeft(t *testing.T) {
	const retries = ".cache/sarra/sarra/x/sr_sarra_x_01.retry"
	files := v02(time.Now())
	files[retries] = line("one", "")
	env := host(t, files)
	for _, i := range apply(t, env, time.Now()) {
		if i.Path == filepath.Join(env.Home, retries) && i.Verdict != adopt.Refused {
			t.Errorf("%s %s: %s", i.Verdict, i.Path, i.Text)
		}
	}
	if _, err := os.Stat(filepath.Join(env.Home, retries)); err != nil {
		t.Error(err)
	}
}
