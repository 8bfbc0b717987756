package test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"srpump/pump/broker"
)

// spoolTexts are the bodies of n messages of some orders, by order and number.
func spoolText(i int) string { return fmt.Sprintf("%d %d %s", i%7, i, strings.Repeat("x", i%3000)) }

// publishTexts sends n messages to an exchange, each under a key of its order.
func publishTexts(t testing.TB, conn broker.Conn, exchange string, n int) {
	t.Helper()
	pub, err := conn.Publisher(t.Context(), broker.PublishOptions{})
	must(t, err)
	defer pub.Close()
	for i := range n {
		p := broker.Publishing{Exchange: exchange, Key: fmt.Sprintf("k.%d", i%7), MessageID: fmt.Sprint(i), Body: []byte(spoolText(i)),
			Headers: map[string]any{"n": int64(i)}}
		must(t, pub.Publish(t.Context(), p, func(err error) {
			if err != nil {
				t.Error(err)
			}
		}))
	}
	must(t, pub.Flush(t.Context()))
}

// spooled reads the messages of a directory, of which none may be half or lack its meta.
func spooled(t testing.TB, dir string) map[int]int {
	t.Helper()
	seen := make(map[int]int)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return seen
	}
	must(t, err)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || strings.HasSuffix(e.Name(), ".meta") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		must(t, err)
		var order, n int
		if _, err := fmt.Sscan(string(text), &order, &n); err != nil || string(text) != spoolText(n) {
			t.Errorf("%s is half: %.40q", e.Name(), text)
		}
		meta, err := os.ReadFile(filepath.Join(dir, e.Name()+".meta"))
		if err != nil || !json.Valid(meta) || !strings.Contains(string(meta), fmt.Sprintf(`"n":{"int64":%d}`, n)) {
			t.Errorf("%s has no meta of its own: %s, %v", e.Name(), meta, err)
		}
		seen[n]++
	}
	return seen
}

// kill -9 of sr_spool in at random moments: each message is a file, whole and with its meta at any time.
func TestKillSpoolIn(t *testing.T) {
	onBothBrokers(t, func(t *testing.T, url string) {
		h, total, kills := newHost(t), scale(2000, 20000), scale(10, 50)
		x, q := fresh("xs_guest"), fresh("q_guest")
		args := []string{"in", "-b", url, "-exchange", x, "-queue_name", q, "-subtopic", "#", "-prefetch", "20", "-directory", h.path("in")}
		h.run(0, "", "sr_spool", append(args, "-once")...)
		publishTexts(t, connect(t, url), x, total)
		last := killAlong(t, kills, total, func() int { return len(spooled(t, h.path("in"))) }, func() *running { return h.start("sr_spool", args...) })
		waitFor(t, "all spooled", func() bool { return len(spooled(t, h.path("in"))) == total }, last.text)
		last.stop()
		files := 0
		for _, n := range spooled(t, h.path("in")) {
			files += n
		}
		t.Logf("%d kills, %d messages, %d files", kills, total, files)
	})
}

// kill -9 of sr_spool out at random moments: every file is published at least once, and those of one
// order in their order.
func TestKillSpoolOut(t *testing.T) {
	onBothBrokers(t, func(t *testing.T, url string) {
		h, total, kills := newHost(t), scale(1000, 10000), scale(10, 50)
		x, q := fresh("xs_guest"), fresh("q_guest")
		conn := connect(t, url)
		must(t, conn.DeclareExchange(t.Context(), broker.Exchange{Name: x}))
		_, err := conn.DeclareQueue(t.Context(), broker.Queue{Name: q})
		must(t, err)
		must(t, conn.Bind(t.Context(), broker.Binding{Queue: q, Exchange: x, Pattern: "#"}))
		for i := range total {
			h.write(fmt.Sprintf("out/%06d,k.%d,o%d", i, i%7, i%7), spoolText(i))
		}
		left := func() int {
			names, err := filepath.Glob(h.path("out", "0*"))
			must(t, err)
			return total - len(names)
		}
		last := killAlong(t, kills, total, left, func() *running {
			return h.start("sr_spool", "out", "-b", url, "-exchange", x, "-directory", h.path("out"), "-sleep", "0")
		})
		waitFor(t, "all published", func() bool { return left() == total }, last.text)
		last.stop()
		k, err := conn.Consume(t.Context(), q, broker.ConsumeOptions{Prefetch: 1000})
		must(t, err)
		defer k.Close()
		next, got := make(map[int]int), 0 // of each order, the number that may come for the first time
		for got < total {
			d, err := k.Next(t.Context())
			must(t, err)
			var order, n int
			_, err = fmt.Sscan(string(d.Body), &order, &n)
			must(t, err)
			must(t, k.Ack(d.Tag))
			at, begun := next[order]
			if !begun {
				at = order
			}
			switch {
			case n == at:
				next[order] = n + 7
				got++
			case n > at:
				t.Fatalf("order %d: %d came before %d", order, n, at)
			}
		}
	})
}

// kill -9 of sr_spool save at random moments: every message is in a segment, and each segment is whole.
func TestKillSpoolSave(t *testing.T) {
	onBothBrokers(t, func(t *testing.T, url string) {
		h, total, kills := newHost(t), scale(3000, 20000), scale(10, 50)
		x, q := fresh("xs_guest"), fresh("q_guest")
		args := []string{"save", "-b", url, "-exchange", x, "-queue_name", q, "-subtopic", "#", "-prefetch", "20", "-segment_size", "4k", "-directory", h.path("saved")}
		h.run(0, "", "sr_spool", append(args, "-once")...)
		publishTexts(t, connect(t, url), x, total)
		saved := func() int { return len(savedTexts(t, h.path("saved"))) }
		last := killAlong(t, kills, total*8/10, saved, func() *running { return h.start("sr_spool", args...) })
		waitFor(t, "nearly all saved", func() bool { return saved() > total*9/10 }, last.text)
		last.stop()
		h.run(0, "", "sr_spool", append(args, "-once")...)
		if n := saved(); n != total {
			t.Errorf("%d of %d messages are in segments", n, total)
		}
	})
}

// savedTexts are the messages in the sealed segments of a directory.
func savedTexts(t testing.TB, dir string) map[int]int {
	t.Helper()
	seen := make(map[int]int)
	names, err := filepath.Glob(filepath.Join(dir, "2*.jsonl.gz"))
	must(t, err)
	for _, name := range names {
		f, err := os.Open(name)
		must(t, err)
		z, err := gzip.NewReader(f)
		must(t, err)
		for lines := json.NewDecoder(z); lines.More(); {
			var l struct{ Body string }
			if err := lines.Decode(&l); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var order, n int
			_, err := fmt.Sscan(l.Body, &order, &n)
			must(t, err)
			if l.Body != spoolText(n) {
				t.Errorf("%s: message %d is half", name, n)
			}
			seen[n]++
		}
		must(t, f.Close())
	}
	return seen
}
