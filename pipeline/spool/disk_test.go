package spool

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"srpump/pump/broker"
)

// small mounts a disk of 256 KiB in the bed.
func (b *bed) small(name string) {
	b.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.MkdirAll(path, 0o755); err != nil {
		b.Fatal(err)
	}
	err := syscall.Mount("tmpfs", path, "tmpfs", 0, "size=256k")
	if errors.Is(err, syscall.EPERM) {
		b.Skip("no right to mount a small disk")
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = syscall.Unmount(path, syscall.MNT_DETACH) })
}

// A said is what was logged.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *said) has(phrase string) func() bool {
	return func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return strings.Contains(s.text.String(), phrase)
	}
}

func (b *bed) until(what string, ok func() bool) {
	b.Helper()
	for !ok() {
		if b.ctx.Err() != nil {
			b.Fatalf("still waiting: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// in the background, until the function it returns is called.
func (b *bed) background(s *Spooler) (log *said, stop func()) {
	log = new(said)
	s.host.Log = slog.New(slog.NewTextHandler(log, nil))
	ctx, cancel := context.WithCancel(b.ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	b.Cleanup(func() {
		if b.Failed() {
			b.Log(log.text.String())
		}
	})
	return log, func() {
		b.Helper()
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			b.Error(err)
		}
	}
}

// noise are messages that do not compress, 16 KiB each.
func noise(n int) (messages []broker.Publishing) {
	for i := range n {
		body := make([]byte, 16<<10)
		_, _ = rand.Read(body)
		messages = append(messages, broker.Publishing{Key: fmt.Sprint("k", i), MessageID: fmt.Sprint("id", i), Body: body})
	}
	return messages
}

// A full disk takes no messages, and says so; once there is room all are files, each once and whole.
func TestInFullDisk(t *testing.T) {
	b := local(t)
	b.small("in")
	b.run(b.in("-min_free", "0"))
	want := noise(40) // in more than one batch
	log, stop := b.background(b.in("-once", "off", "-prefetch", "4", "-min_free", "0"))
	b.publish(want...)
	b.until("the disk is full", log.has("no space left"))
	found := make(map[string][]byte)
	b.until("all have been files", func() bool { // somebody takes what is there
		for _, name := range b.bodies("in") {
			path := filepath.Join(b.dir, "in", name)
			body, err := os.ReadFile(path)
			if err != nil {
				b.Fatal(err)
			}
			_, _, id := Parts(name)
			if found[id] != nil {
				b.Errorf("%s came twice", id)
			}
			found[id] = body
			if err := errors.Join(os.Remove(path), os.Remove(path+metaSuffix)); err != nil {
				b.Fatal(err)
			}
		}
		return len(found) == len(want)
	})
	stop()
	for _, p := range want {
		if !bytes.Equal(found[p.MessageID], p.Body) {
			b.Errorf("%s is not what was sent", p.MessageID)
		}
	}
}

// A segment on a full disk is whole: what did not fit is written behind it once there is room, and comes out as it
// went in.
func TestSaveFullDisk(t *testing.T) {
	b := local(t)
	b.small("saved")
	save := func(options ...string) *Spooler {
		return b.spooler(append([]string{"-direction", "save", "-exchange", b.name, "-queue_name", b.name, "-subtopic", "#", "-directory", "saved"}, options...)...)
	}
	b.run(save("-once", "-min_free", "0"))
	ballast := filepath.Join(b.dir, "saved", ".ballast")
	if err := os.WriteFile(ballast, make([]byte, 128<<10), 0o644); err != nil {
		b.Fatal(err)
	}
	want := noise(12) // 192 KiB
	log, stop := b.background(save("-prefetch", "4", "-min_free", "0"))
	b.publish(want...)
	b.until("the disk is full", log.has("no space left"))
	if err := os.Remove(ballast); err != nil {
		b.Fatal(err)
	}
	b.until("it goes on", log.has("spool goes on"))
	b.until("all are taken", func() bool {
		n, err := b.conn.DeclareQueue(b.ctx, broker.Queue{Name: b.name, Passive: true})
		if err != nil {
			b.Fatal(err)
		}
		return n == 0
	})
	stop()
	b.run(save("-once", "-min_free", "0")) // what a stop left is taken, and the segment sealed
	b.run(b.spooler("-direction", "restore", "-directory", "saved", "-post_exchange", b.name))
	k, err := b.conn.Consume(b.ctx, b.name, broker.ConsumeOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer k.Close()
	for _, p := range want {
		d, err := k.Next(b.ctx)
		if err != nil {
			b.Fatal(err)
		}
		if d.Key != p.Key || !bytes.Equal(d.Body, p.Body) {
			b.Errorf("restored %s for %s", d.Key, p.Key)
		}
	}
}
