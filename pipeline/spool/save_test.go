package spool

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"srpump/post"
	"srpump/pump/broker"
)

func (b *bed) save(options ...string) *Spooler {
	return b.spooler(append([]string{"-direction", "save", "-once", "-exchange", b.name, "-queue_name", b.name, "-subtopic", "#", "-directory", "saved"}, options...)...)
}

func (b *bed) restore(options ...string) *Spooler {
	return b.spooler(append([]string{"-direction", "restore", "-directory", "saved"}, options...)...)
}

// take is what waits in the queue of the bed, which must be n messages.
func (b *bed) take(n int) (out []broker.Publishing) {
	b.Helper()
	k, err := b.conn.Consume(b.ctx, b.name, broker.ConsumeOptions{Prefetch: 1000})
	if err != nil {
		b.Fatal(err)
	}
	defer k.Close()
	for range n {
		d, err := k.Next(b.ctx)
		if err != nil {
			b.Fatal(err)
		}
		out = append(out, comparable(d.Publishing))
		if err := k.Ack(d.Tag); err != nil {
			b.Fatal(err)
		}
	}
	if more, err := b.conn.DeclareQueue(b.ctx, broker.Queue{Name: b.name, Passive: true}); err != nil || more > 0 {
		b.Errorf("%d more, %v", more, err)
	}
	return out
}

// What is saved comes back as it was, once however often it is restored, and again when that is asked for.
func TestSaveRestore(t *testing.T) {
	engines(t, func(b *bed) {
		b.run(b.save())
		want := everything()
		b.publish(want...)
		b.run(b.save("-segment_size", "1"))
		b.run(b.restore())
		for i, got := range b.take(len(want)) {
			want[i].Exchange = b.name
			if w := comparable(want[i]); !reflect.DeepEqual(got, w) {
				b.Errorf("message %d:\n got %#v\nwant %#v", i, got, w)
			}
		}
		b.run(b.restore())
		b.take(0)
		b.run(b.restore("-reset", "-subtopic", "a.#", "-since", time.Now().Add(-time.Hour).Format(time.RFC3339)))
		b.take(1)
		b.run(b.restore("-reset", "-until", time.Now().Add(-time.Hour).Format(time.RFC3339)))
		b.take(0)
	})
}

// A segment that was cut in the middle of a batch ends after the last whole one, and is announced like any
// other, once.
func TestMend(t *testing.T) {
	b := local(t)
	const heralds = "segments"
	for _, q := range []string{heralds} {
		if err := b.conn.DeclareExchange(b.ctx, broker.Exchange{Name: q}); err != nil {
			t.Fatal(err)
		}
		if _, err := b.conn.DeclareQueue(b.ctx, broker.Queue{Name: q}); err != nil {
			t.Fatal(err)
		}
		if err := b.conn.Bind(b.ctx, broker.Binding{Queue: q, Exchange: q, Pattern: "#"}); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(b.dir, "saved")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	g, err := newSegment(dir, time.Unix(1700000000, 0), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	var whole int64
	for i := range 3 {
		whole = g.size
		text, err := encodeLine(&broker.Delivery{Publishing: broker.Publishing{Exchange: b.name, Key: "k", Body: fmt.Append(nil, i)}}, time.Now())
		if err == nil {
			err = g.add([][]byte{text, text})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Truncate(g.path, (whole+g.size)/2); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		b.run(b.save("-post_broker", "sqlite:", "-post_exchange", heralds, "-post_base_url", "http://h/", "-post_base_dir", "saved"))
	}
	sealed, open, err := segments(dir)
	if err != nil || len(sealed) != 1 || len(open) != 0 {
		t.Fatalf("%q %q %v", sealed, open, err)
	}
	k, err := b.conn.Consume(b.ctx, heralds, broker.ConsumeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := k.Next(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	a, err := post.Decode(d.Key, d.Headers, d.Body)
	if err != nil || a.Path != filepath.Base(sealed[0]) || a.Base != "http://h/" || a.Size() != whole {
		t.Errorf("announced %+v, %v", a, err)
	}
	if n, err := b.conn.DeclareQueue(b.ctx, broker.Queue{Name: heralds, Passive: true}); err != nil || n != 0 {
		t.Errorf("announced %d times more, %v", n, err)
	}
	b.run(b.restore())
	got := b.take(4)
	if !bytes.Equal(got[0].Body, []byte("0")) || !bytes.Equal(got[3].Body, []byte("1")) {
		t.Errorf("%+v", got)
	}
}

// A line that is none, or a message nobody takes, ends a restore; the next goes on from there.
func TestRestoreGoesOn(t *testing.T) {
	b := local(t)
	b.run(b.save())
	b.write("saved/20260101T000000.000000000Z.jsonl.gz", fmt.Sprintf("{\"exchange\":%q,\"key\":\"a\",\"body\":\"1\"}\nnonsense\n", b.name))
	for range 2 {
		if err := b.restore().Run(b.ctx); err == nil {
			t.Fatal("nonsense was restored")
		}
	}
	b.take(1)
}

// Patterns are read as exchanges read them.
func TestWants(t *testing.T) {
	for _, c := range []struct {
		pattern, key string
		want         bool
	}{{"#", "", true}, {"a.*", "a.b", true}, {"a.*", "a", false}, {"a.#", "a", true}, {"#.b.#", "a.b.c", true}, {"#.b", "a.b.c", false}, {"a", "a.b", false}} {
		s := settings{keys: []string{c.pattern}}
		if got := s.wants(c.key); got != c.want {
			t.Errorf("%s for %s is %v", c.pattern, c.key, got)
		}
	}
}
