package spool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"srpump/pump/broker"
	engine "srpump/pump/broker/amqp"
	"srpump/pump/broker/sqlite"
	"srpump/pump/config"
	"srpump/pump/daemon"
	"srpump/test/rabbit"
)

func TestMain(m *testing.M) { os.Exit(rabbit.Main(m)) }

const patience = 60 * time.Second

// A bed is a broker, and directories.
type bed struct {
	*testing.T
	ctx  context.Context
	dir  string
	open func(context.Context) (broker.Conn, error)
	conn broker.Conn
	name string // of exchange and queue
}

func newBed(t *testing.T, open func(context.Context) (broker.Conn, error)) *bed {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	b := &bed{T: t, ctx: ctx, dir: t.TempDir(), open: open, name: "sp_" + filepath.Base(t.TempDir()) + fmt.Sprint(time.Now().UnixNano())}
	var err error
	if b.conn, err = open(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.conn.DeleteQueue(context.Background(), b.name)
		b.conn.DeleteExchange(context.Background(), b.name, false)
		b.conn.Close()
	})
	return b
}

func local(t *testing.T) *bed {
	db := filepath.Join(t.TempDir(), "pump.db")
	return newBed(t, func(ctx context.Context) (broker.Conn, error) {
		return sqlite.Open(ctx, "sqlite://"+db, broker.Options{})
	})
}

// engines runs a test with both brokers.
func engines(t *testing.T, test func(*bed)) {
	t.Run("sqlite", func(t *testing.T) { test(local(t)) })
	t.Run("rabbitmq", func(t *testing.T) {
		url := rabbit.Start(t).URL("admin")
		test(newBed(t, func(ctx context.Context) (broker.Conn, error) { return engine.Open(ctx, url, broker.Options{}) }))
	})
}

// spooler is one with these options, written as on the command line.
func (b *bed) spooler(options ...string) *Spooler {
	b.Helper()
	words, _, err := config.NormalizeArgs(options)
	if err != nil {
		b.Fatal(err)
	}
	c, problems := config.Load(config.Request{Env: config.Env{Home: b.dir, Cwd: b.dir, Hostname: "h"}, Preset: config.Spool, Args: words})
	if config.Failed(problems) {
		b.Fatal(problems)
	}
	s, err := New(c, Host{Log: slog.New(slog.DiscardHandler), Cwd: b.dir, Now: time.Now, Ready: func() {},
		Open: func(ctx context.Context, _ string, _ bool) (broker.Conn, error) { return b.open(ctx) }, Instant: instant}, nil)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func instant(word string) (time.Time, error) {
	if word == "" {
		return time.Time{}, nil
	}
	return time.Parse(time.RFC3339Nano, word)
}

func (b *bed) in(options ...string) *Spooler {
	return b.spooler(append([]string{"-direction", "in", "-once", "-exchange", b.name, "-queue_name", b.name, "-subtopic", "#", "-directory", "in"}, options...)...)
}

func (b *bed) out(options ...string) *Spooler {
	return b.spooler(append([]string{"-direction", "out", "-once", "-directory", "out", "-sleep", "0"}, options...)...)
}

func (b *bed) run(s *Spooler) {
	b.Helper()
	if err := s.Run(b.ctx); err != nil {
		b.Fatal(err)
	}
}

// publish sends messages to the exchange of the bed.
func (b *bed) publish(messages ...broker.Publishing) {
	b.Helper()
	pub, err := b.conn.Publisher(b.ctx, broker.PublishOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer pub.Close()
	for _, p := range messages {
		p.Exchange = b.name
		if err := pub.Publish(b.ctx, p, func(err error) {
			if err != nil {
				b.Error(err)
			}
		}); err != nil {
			b.Fatal(err)
		}
	}
	if err := pub.Flush(b.ctx); err != nil {
		b.Fatal(err)
	}
}

// bodies are the names of the messages in a directory, in order.
func (b *bed) bodies(dir string) (names []string) {
	b.Helper()
	entries, err := os.ReadDir(filepath.Join(b.dir, dir))
	if err != nil {
		b.Fatal(err)
	}
	for _, e := range entries {
		if isMessage(e.Name()) && e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	return names
}

func (b *bed) write(name, text string) {
	b.Helper()
	path := filepath.Join(b.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		b.Fatal(err)
	}
}

// everything has all properties AMQP 0-9-1 has, headers of every type, and bytes that are no text.
func everything() []broker.Publishing {
	return []broker.Publishing{
		{Key: "plain", Body: []byte("{}"), ContentType: "application/json", ContentEncoding: "utf-8"},
		{Key: "a.b.c", Body: []byte("a\x00b\xff\n"), ContentType: "t", ContentEncoding: "e", Transient: true, Priority: 7, Expiration: "3600000",
			CorrelationID: "c\xff", ReplyTo: "r", MessageID: "../m\x00\n", Type: "ty", AppID: "app", Timestamp: time.Unix(1700000000, 0).UTC(),
			Headers: map[string]any{
				"nil": nil, "bool": true, "text": "<&>\u00e9", "odd": "\xff\x00", "bytes": []byte{0, 255}, "time": time.Unix(1700000000, 0).UTC(),
				"i8": int8(-5), "u8": uint8(200), "i16": int16(-300), "u16": uint16(60000), "i32": int32(-70000), "u32": uint32(4e9), "i64": int64(math.MinInt64),
				"f32": float32(1.1), "f64": 0.1, "zero": math.Copysign(0, -1),
				"array": []any{"x", int64(2), nil, []any{}, amqp.Table{"k": "\xfe"}}, "table": amqp.Table{"deep": amqp.Table{"\xffname": int32(1)}},
			}},
		{Key: "\xff/../\x00 \n,~%", Body: nil},
		{Key: strings.Repeat("k", 255), Body: bytes.Repeat([]byte("0123456789abcdef"), 1<<16)},
	}
}

// What comes in goes out as it was, whatever it is: bodies, properties, headers and their types.
func TestRoundTrip(t *testing.T) {
	engines(t, func(b *bed) {
		b.run(b.in())
		want := everything()
		b.publish(want...)
		b.run(b.in("-directory", "out"))
		if n := len(b.bodies("out")); n != len(want) {
			b.Fatalf("%d files, want %d", n, len(want))
		}
		b.run(b.out())
		if left := b.bodies("out"); len(left) > 0 {
			b.Fatalf("left in the outbox: %q", left)
		}
		k, err := b.conn.Consume(b.ctx, b.name, broker.ConsumeOptions{})
		if err != nil {
			b.Fatal(err)
		}
		defer k.Close()
		for i, w := range want {
			d, err := k.Next(b.ctx)
			if err != nil {
				b.Fatal(err)
			}
			w.Exchange = b.name
			if got := comparable(d.Publishing); !reflect.DeepEqual(got, comparable(w)) {
				b.Errorf("message %d:\n got %#v\nwant %#v", i, got, comparable(w))
			}
		}
	})
}

// comparable makes engines alike: named tables, times and empty bodies.
func comparable(p broker.Publishing) broker.Publishing {
	p.Headers, _ = flat(p.Headers).(map[string]any)
	if len(p.Headers) == 0 {
		p.Headers = nil
	}
	if len(p.Body) == 0 {
		p.Body = nil
	}
	p.Timestamp = p.Timestamp.UTC()
	return p
}

func flat(v any) any {
	switch v := v.(type) {
	case time.Time:
		return v.UTC()
	case amqp.Table:
		return flat(map[string]any(v))
	case map[string]any:
		out := make(map[string]any)
		for k, e := range v {
			out[k] = flat(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = flat(e)
		}
		return out
	}
	return v
}

// What JSON has no number for keeps its bits in a meta.
func TestOddNumbers(t *testing.T) {
	want := map[string]any{"inf": math.Inf(-1), "nan": math.NaN(), "small": float32(math.Inf(1)), "decimal": amqp.Decimal{Scale: 2, Value: -314}}
	m, err := metaOf(&broker.Publishing{Headers: want})
	if err != nil {
		t.Fatal(err)
	}
	text, err := encodeMeta(m)
	if err != nil {
		t.Fatal(err)
	}
	if m, err = decodeMeta(text); err != nil {
		t.Fatal(err)
	}
	got, err := m.publishing()
	if err != nil {
		t.Fatal(err)
	}
	nan, _ := got.Headers["nan"].(float64)
	delete(got.Headers, "nan")
	delete(want, "nan")
	if !math.IsNaN(nan) || !reflect.DeepEqual(got.Headers, want) {
		t.Errorf("%s became %#v", text, got.Headers)
	}
}

// A message that comes again is one file, and equal ones that do not are as many as they are.
func TestDuplicates(t *testing.T) {
	engines(t, func(b *bed) {
		b.run(b.in())
		b.publish(broker.Publishing{Key: "k", Body: []byte("x")}, broker.Publishing{Key: "k", Body: []byte("x")},
			broker.Publishing{Key: "k", Body: []byte("x"), MessageID: "m"}, broker.Publishing{Key: "k", Body: []byte("x"), MessageID: "m"})
		b.run(b.in())
		if got := b.bodies("in"); len(got) != 3 {
			b.Fatalf("%q", got)
		}
		// Written, and cut off before the acknowledgement.
		b.publish(broker.Publishing{Key: "again", Body: []byte("y")})
		again := b.in()
		st, err := openStore(again.set.dir, time.Now)
		if err != nil {
			b.Fatal(err)
		}
		from, err := again.openIntake(b.ctx)
		if err != nil {
			b.Fatal(err)
		}
		batch, err := from.batch(b.ctx)
		if err != nil {
			b.Fatal(err)
		}
		if err := again.spool(b.ctx, st, batch); err != nil {
			b.Fatal(err)
		}
		if err := from.close(); err != nil {
			b.Fatal(err)
		}
		s := b.in()
		b.run(s)
		if n, dup := len(b.bodies("in")), s.counters.duplicate.Load(); n != 4 || dup != 1 {
			b.Errorf("%d files, %d duplicates", n, dup)
		}
	})
}

// Files of one order go out by name, one that nobody takes holds what is behind it and nothing else,
// and one that can never go is put aside with the reason.
func TestOrder(t *testing.T) {
	engines(t, func(b *bed) {
		b.run(b.in("-subtopic", "none", "-subtopic", "ok.#"))
		for i := range 50 {
			b.write(fmt.Sprintf("out/%04d,ok.%d,h%d", i, i, i%3), fmt.Sprint(i))
		}
		b.write("out/0010,lost,h1", "nobody")
		b.write("out/0011,ok.late,h1", "late")
		b.write("out/nokey", "?")
		b.write("out/bad", "?")
		b.write("out/bad.meta", `{"exchange":"x","kye":"k"}`)
		b.write("out/.hidden", "?")
		b.write("out/part.tmp", "?")
		if err := b.out("-post_exchange", b.name).Run(b.ctx); !errors.Is(err, ErrSome) {
			b.Fatalf("ended with %v", err)
		}
		left := b.bodies("out")
		if len(left) != 16 || left[0] != "0010,lost,h1" || left[2] != "0011,ok.late,h1" {
			b.Errorf("left: %q", left)
		}
		why, err := os.ReadFile(filepath.Join(b.dir, "out/failed/bad.why"))
		if err != nil || !strings.Contains(string(why), "kye") {
			b.Errorf("why: %q, %v", why, err)
		}
		if got := b.bodies("out/failed"); !reflect.DeepEqual(got, []string{"bad", "bad.why", "nokey", "nokey.why"}) {
			b.Errorf("failed: %q", got)
		}
		if err := b.conn.Bind(b.ctx, broker.Binding{Queue: b.name, Exchange: b.name, Pattern: "lost"}); err != nil {
			b.Fatal(err)
		}
		b.run(b.out("-post_exchange", b.name))
		b.run(b.in())
		b.inOrder()
	})
}

// inOrder fails where a file of an order came before one with a smaller name.
func (b *bed) inOrder() {
	b.Helper()
	last := map[string]int{}
	for _, name := range b.bodies("in") {
		_, key, _, _ := splitName(name)
		text, err := os.ReadFile(filepath.Join(b.dir, "in", name))
		if err != nil {
			b.Fatal(err)
		}
		var n int
		if _, err := fmt.Sscan(string(text), &n); err != nil {
			continue
		}
		order := fmt.Sprint(n % 3)
		if n < last[order] {
			b.Errorf("%s (%d) came after %d", key, n, last[order])
		}
		last[order] = n
	}
	if n := len(b.bodies("in")); n != 52 {
		b.Errorf("%d messages came", n)
	}
}

// Of two processes at one directory, the second is told that it is taken.
func TestTwoAtOnce(t *testing.T) {
	b := local(t)
	s := b.in()
	lock, err := lockDir(s.set.dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(b.ctx); !errors.Is(err, daemon.ErrBusy) {
		t.Errorf("the second one: %v", err)
	}
	lock.Close()
	b.run(s)
}

// What was cut off while it was written is cleared away, and nothing that belongs to others.
func TestSweep(t *testing.T) {
	b := local(t)
	for _, name := range []string{".00000000000000000001,k,+a.tmp", "00000000000000000001,k,+a.meta", "notes", ".mine.tmp", "x.meta"} {
		b.write("in/"+name, "?")
	}
	b.run(b.in())
	entries, err := os.ReadDir(filepath.Join(b.dir, "in"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{".lock", ".mine.tmp", "notes", "x.meta"}; !reflect.DeepEqual(names, want) {
		t.Errorf("%q", names)
	}
}

// While the disk has less room than is to be left, nothing is taken and nothing acknowledged.
func TestNoRoom(t *testing.T) {
	b := local(t)
	b.run(b.in())
	b.publish(broker.Publishing{Key: "k", Body: []byte("x")})
	ctx, cancel := context.WithCancel(b.ctx)
	s := b.in("-min_free", "99.9%")
	s.host.Log = slog.New(slog.NewTextHandler(onWrite(func(line string) {
		if strings.Contains(line, "spool paused") {
			cancel()
		}
	}), nil))
	if err := s.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if got := b.bodies("in"); len(got) > 0 {
		t.Errorf("spooled: %q", got)
	}
	b.run(b.in())
	if got := b.bodies("in"); len(got) != 1 {
		t.Errorf("spooled later: %q", got)
	}
}

type onWrite func(string)

func (f onWrite) Write(b []byte) (int, error) { f(string(b)); return len(b), nil }

// Names are safe whatever the key holds, sort by arrival, and do not go back with the clock.
func TestNames(t *testing.T) {
	for _, key := range []string{"../../etc", "a/b", "a\x00b", "a\nb", strings.Repeat("\xff", 10000), "", ".", ","} {
		name := makeName(1, key, key)
		if len(name)+len(".")+len(metaSuffix)+len(tempSuffix) > 255 || strings.ContainsAny(name, "/\x00\n") {
			t.Errorf("%q", name)
		}
		if _, got, _, ok := splitName(name); ok && got != key {
			t.Errorf("%q became %q", key, got)
		}
	}
	clock := time.Unix(2000, 0)
	st := &store{now: func() time.Time { return clock }}
	a := st.arrival()
	clock = time.Unix(1000, 0)
	if b := st.arrival(); b <= a {
		t.Errorf("%d after %d", b, a)
	}
}

// An exchange of another kind is declared as that, and one that was is left as it is.
func TestExchangeType(t *testing.T) {
	engines(t, func(b *bed) {
		err := b.in("-exchange_type", "fanout", "-subtopic", "none", "-subtopic", "other").Run(b.ctx)
		if errors.Is(err, broker.ErrUnsupported) && strings.HasSuffix(b.T.Name(), "sqlite") {
			return
		}
		if err != nil {
			b.Fatal(err)
		}
		b.publish(broker.Publishing{Key: "any", Body: []byte("x")})
		b.run(b.in("-exchange_type", "fanout"))
		if n := len(b.bodies("in")); n != 1 {
			b.Errorf("%d files", n)
		}
		if err := b.in().Run(b.ctx); !errors.Is(err, broker.ErrPrecondition) {
			b.Errorf("as topic: %v", err)
		}
	})
}
