package pipe

import (
	"bytes"
	"io"
	"log/slog"
	"testing"

	"srpump/pump/broker"
)

// A body that carries the largest file, all of it to be quoted, comes out of the pipe as it went in.
func TestLongBody(t *testing.T) {
	body := append(bytes.Repeat([]byte(`\"`), 4<<20), '}')
	var through bytes.Buffer
	c := New(&through, &through, slog.New(slog.DiscardHandler))
	p, err := c.Publisher(t.Context(), broker.PublishOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Publish(t.Context(), broker.Publishing{Key: "v03.x", Body: body}, func(error) {}); err != nil {
		t.Fatal(err)
	}
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	in, err := New(&through, io.Discard, slog.New(slog.DiscardHandler)).Consume(t.Context(), "", broker.ConsumeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if d, err := in.Next(t.Context()); err != nil || d.Key != "v03.x" || !bytes.Equal(bytes.TrimSuffix(d.Body, []byte("\n")), body) {
		t.Errorf("%+.100v %v", d, err)
	}
}
