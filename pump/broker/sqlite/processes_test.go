package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"srpump/pump/broker"
)

// childEnv makes the test binary play another process: "publish", "hold" or
// "consume", then the path of the database.
const childEnv = "SRPUMP_SQLITE_CHILD"

func runChild() bool {
	role := os.Getenv(childEnv)
	if role == "" {
		return false
	}
	c, err := Open(context.Background(), "sqlite://"+os.Args[1], broker.Options{Name: role})
	if err == nil {
		switch role {
		case "publish":
			err = childPublish(c, os.Args[2])
		case "hold", "consume":
			err = childConsume(c, role == "consume")
		}
		err = errors.Join(err, c.Close())
	}
	if err != nil {
		fmt.Println("error:", err)
	}
	return true
}

// childPublish publishes numbers below the limit and prints each that is confirmed.
func childPublish(c broker.Conn, limit string) error {
	n, err := strconv.Atoi(limit)
	if err != nil {
		return err
	}
	p, err := c.Publisher(context.Background(), broker.PublishOptions{Window: 200})
	if err != nil {
		return err
	}
	var failed error
	for i := range n {
		text := fmt.Sprintf("%d-%d", os.Getpid(), i)
		err := p.Publish(context.Background(), broker.Publishing{Exchange: "x", Key: "k", Body: []byte(text)}, func(err error) {
			if err != nil {
				failed = err
				return
			}
			fmt.Println(text)
		})
		if err != nil {
			return err
		}
	}
	err = p.Flush(context.Background())
	return errors.Join(err, p.Close(), failed)
}

// childConsume prints what it is given, and acknowledges it if asked, until its input ends.
func childConsume(c broker.Conn, ack bool) error {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer cancel()
		io.Copy(io.Discard, os.Stdin)
	}()
	k, err := c.Consume(ctx, "q", broker.ConsumeOptions{Prefetch: 50})
	for err == nil {
		var d *broker.Delivery
		if d, err = k.Next(ctx); err == nil {
			fmt.Println(string(d.Body))
			if ack {
				err = k.Ack(d.Tag)
			}
		}
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// A child is another process on the same file, killed with the test at the latest.
type child struct {
	cmd   *exec.Cmd
	stdin io.Closer
	lines *bufio.Scanner
}

func start(t *testing.T, role string, args ...string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), childEnv+"="+role)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return &child{cmd, in, bufio.NewScanner(out)}
}

func (p *child) kill(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
}

// rest is every line until the child has ended.
func (p *child) rest() (lines []string) {
	for p.lines.Scan() {
		lines = append(lines, p.lines.Text())
	}
	return lines
}

// standard declares exchange x and queue q, bound to everything.
func standard(t testing.TB, path string) broker.Conn {
	t.Helper()
	c := openTest(t, path)
	t.Cleanup(func() { c.Close() })
	err := c.DeclareExchange(t.Context(), broker.Exchange{Name: "x"})
	if err == nil {
		_, err = c.DeclareQueue(t.Context(), broker.Queue{Name: "q"})
	}
	if err == nil {
		err = c.Bind(t.Context(), broker.Binding{Queue: "q", Exchange: "x", Pattern: "#"})
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func depthOf(t *testing.T, c broker.Conn) int {
	t.Helper()
	n, err := c.DeclareQueue(t.Context(), broker.Queue{Name: "q", Passive: true})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestProcessesTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pump.db")
	c := standard(t, path)
	const each = 1000
	consumers := []*child{start(t, "consume", path), start(t, "consume", path)}
	var mu sync.Mutex
	sent, got := map[string]bool{}, map[string]int{}
	var senders, readers sync.WaitGroup
	for range 3 {
		p := start(t, "publish", path, strconv.Itoa(each))
		senders.Go(func() {
			for _, l := range p.rest() {
				mu.Lock()
				sent[l] = true
				mu.Unlock()
			}
		})
	}
	all := make(chan struct{})
	for _, k := range consumers {
		readers.Go(func() {
			for k.lines.Scan() {
				mu.Lock()
				if got[k.lines.Text()]++; len(got) == 3*each {
					close(all)
				}
				mu.Unlock()
			}
		})
	}
	senders.Wait()
	select {
	case <-all:
	case <-time.After(30 * time.Second):
	}
	for _, k := range consumers {
		k.stdin.Close()
	}
	readers.Wait()
	if len(sent) != 3*each || len(got) != 3*each {
		t.Fatalf("%d confirmed, %d received, want %d", len(sent), len(got), 3*each)
	}
	for body, n := range got {
		if n != 1 || !sent[body] {
			t.Errorf("%q received %d times, confirmed %v", body, n, sent[body])
		}
	}
	if n := depthOf(t, c); n != 0 {
		t.Errorf("%d left", n)
	}
}

// The kernel closes the bell of a killed consumer; what it held returns marked.
func TestKilledConsumer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pump.db")
	c := standard(t, path)
	start(t, "publish", path, "100").rest()
	k := start(t, "hold", path)
	for range 50 {
		if !k.lines.Scan() {
			t.Fatal("the consumer ended early")
		}
	}
	k.kill(t)
	mine, err := c.Consume(t.Context(), "q", broker.ConsumeOptions{Prefetch: 200})
	if err != nil {
		t.Fatal(err)
	}
	again, seen := 0, map[string]bool{}
	for range 100 {
		d, err := mine.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		seen[string(d.Body)] = true
		if d.Redelivered {
			again++
		}
	}
	if again != 50 || len(seen) != 100 {
		t.Errorf("%d redelivered and %d distinct, want 50 and 100", again, len(seen))
	}
}

// What a publisher printed was confirmed, and must be there whenever it is killed.
func TestKilledPublisher(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pump.db")
	c := standard(t, path)
	confirmed := map[string]bool{}
	for round := range 8 {
		p := start(t, "publish", path, "1000000")
		for range 100 + 317*round {
			if !p.lines.Scan() {
				t.Fatal("the publisher ended early")
			}
			confirmed[p.lines.Text()] = true
		}
		p.kill(t)
		for _, l := range p.rest() {
			confirmed[l] = true
		}
	}
	k, err := c.Consume(t.Context(), "q", broker.ConsumeOptions{Prefetch: 500})
	if err != nil {
		t.Fatal(err)
	}
	stored := depthOf(t, c)
	for range stored {
		d, err := k.Next(t.Context())
		if err == nil {
			err = k.Ack(d.Tag)
		}
		if err != nil {
			t.Fatal(err)
		}
		delete(confirmed, string(d.Body))
	}
	// The last line of a killed process may be torn: it is a prefix of what was stored.
	for body := range confirmed {
		if len(confirmed) > 8 || len(body) > 12 {
			t.Errorf("%q was confirmed and is lost (%d of them)", body, len(confirmed))
			return
		}
	}
}

// A dead session's exclusive queue goes with it.
func TestKilledOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pump.db")
	c := standard(t, path).(*conn)
	k := start(t, "hold", path)
	pause := time.NewTicker(10 * time.Millisecond)
	defer pause.Stop()
	for n := int64(0); n == 0; <-pause.C {
		if err := c.read(func(d *database) (err error) {
			n, _, err = d.number("SELECT count(*) FROM consumer")
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	err := c.write(t.Context(), func(tx *tx) error {
		_, err := tx.exec("UPDATE queue SET exclusive=1, owner=(SELECT id FROM session)")
		return errors.Join(err, tx.changed())
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Consume(t.Context(), "q", broker.ConsumeOptions{}); !errors.Is(err, broker.ErrLocked) {
		t.Errorf("error %v while the owner lives, want locked", err)
	}
	k.kill(t)
	k.cmd.Wait()
	if err := c.sweep(); err != nil {
		t.Fatal(err)
	}
	_, err = c.DeclareQueue(t.Context(), broker.Queue{Name: "q", Passive: true})
	if !errors.Is(err, broker.ErrNotFound) {
		t.Errorf("error %v after the owner's death, want not found", err)
	}
	if left, _ := filepath.Glob(path + ".d/*.bell"); len(left) > 1 {
		t.Errorf("bells left: %v", left)
	}
}
