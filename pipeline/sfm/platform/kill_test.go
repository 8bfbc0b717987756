package platform_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"srpump/pipeline/sfm/harvest"
	"srpump/pipeline/sfm/platform"
	"srpump/pipeline/sfm/platform/apitest"
)

// childEnv makes the test program a harvester of one request, which SIGTERM pauses.
const childEnv = "SRPUMP_TEST_WALKER"

func TestMain(m *testing.M) {
	if text := os.Getenv(childEnv); text != "" {
		os.Exit(child(text))
	}
	goleak.VerifyTestMain(m)
}

// An errand is what a child is to do.
type errand struct {
	Request []byte
	Size    int64 // of a WARC
}

func child(text string) int {
	var e errand
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	o := plain()
	o.Out, o.Size, o.Log = new(told), e.Size, slog.New(slog.NewTextHandler(os.Stderr, nil))
	outcome, err := harvest.New(o).Run(ctx, harvest.Job{Body: e.Request})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return map[harvest.Outcome]int{harvest.Succeeded: 0, harvest.Paused: 75}[outcome]
}

// start begins a child with a request.
func (b *bed) start(a ask, size int64) *exec.Cmd {
	b.t.Helper()
	text, err := json.Marshal(errand{b.request(a), size})
	if err != nil {
		b.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Stderr = b.t.Output()
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	return cmd
}

// collected is all that is in the collection in the end.
func (b *bed) collected() *told {
	b.t.Helper()
	all := &told{t: b.t, kind: b.kind}
	err := filepath.WalkDir(b.path, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".warc.gz") && !strings.Contains(path, ".harvest") {
			all.warcs = append(all.warcs, path)
		}
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return all
}

// A harvester that is killed at its third page goes on where it was: everything is there in the
// end, and at most what came since the last whole page, and the first one, comes twice. In one file,
// and with a file for each page.
func TestKilled(t *testing.T) {
	for _, size := range []int64{0, 1} {
		eachPaged(t, func(t *testing.T, p *paged, b *bed, _ pagedType) {
			n := 5*p.page + 3
			p.add(n)
			arrived := make(chan struct{})
			p.desk.Fail(p.list, 2, p.desk.Real)
			p.desk.Fail(p.list, 1, apitest.Held(arrived, nil, nil))
			a := p.ask
			a.id = "killed"
			cmd := b.start(a, size)
			<-arrived
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			p.desk.Forget()
			if err := b.start(a, size).Wait(); err != nil {
				t.Fatal(err)
			}
			ids := b.collected().ids()
			if len(unique(ids)) != n || len(ids) > n+2*p.page {
				t.Errorf("size %d: %d different items of %d, %d in all", size, len(unique(ids)), n, len(ids))
			}
		})
	}
}

// A stream whose harvester is killed begins again at its cursor.
func TestKilledStream(t *testing.T) {
	t.Parallel()
	s := apitest.OpenJetstream(t)
	b := newBed(t, "bluesky_jetstream", s.URL)
	a := ask{id: "killed", options: object{"flush": 0.02}}
	l := &listening{t: t, b: b}
	for round := range 3 {
		cmd := b.start(a, 0)
		l.until("a connection", func() bool { return s.Listeners() == 1 })
		s.Emit("did:plc:a", "app.bsky.feed.post", 1000)
		l.reached(s, 1000*round)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		l.until("the end of the connection", func() bool { return s.Listeners() == 0 })
	}
	cmd := b.start(a, 0)
	l.until("a connection", func() bool { return s.Listeners() == 1 })
	s.Emit("did:plc:a", "app.bsky.feed.post", 10)
	l.reached(s, 3009)
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 75 {
		t.Errorf("exit status %d", code)
	}
	if ids := b.collected().ids(); len(unique(ids)) != 3010 {
		t.Errorf("%d different events of 3010", len(unique(ids)))
	}
}

// plain are options without an outbox.
func plain() harvest.Options {
	return harvest.Options{Types: platform.Types(), Tries: 1, Host: "host", Instance: "1", Software: "test", Now: time.Now,
		Patience: harvest.Patience{Tries: 3, Pause: time.Millisecond, Longest: 50 * time.Millisecond}, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
}
