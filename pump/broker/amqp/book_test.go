package amqp

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Whatever is decided in whatever order, the broker is told exactly that, and
// never of a tag it does not wait for (which would close the channel).
func TestBookTellsExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b book
		var last uint64
		waiting := map[uint64]verdict{} // as the broker sees it; open until told
		decided := map[uint64]verdict{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				last++
				b.deliver(last)
				waiting[last] = open
			case 1:
				tag := rapid.Uint64Range(0, last+2).Draw(t, "tag")
				v := rapid.SampledFrom([]verdict{acked, requeued, dropped}).Draw(t, "verdict")
				b.decide(tag, v)
				if _, ok := waiting[tag]; ok && decided[tag] == open {
					decided[tag] = v
				}
			case 2:
				tell(t, waiting, decided, b.settle())
			}
		}
		tell(t, waiting, decided, b.settle())
		for tag := range waiting {
			if decided[tag] != open {
				t.Fatalf("the broker was never told of %d", tag)
			}
		}
	})
}

// tell plays the broker.
func tell(t *rapid.T, waiting, decided map[uint64]verdict, methods []settlement) {
	for _, m := range methods {
		if _, ok := waiting[m.tag]; !ok {
			t.Fatalf("settled %d, which the broker does not wait for", m.tag)
		}
		for tag := range waiting {
			if tag != m.tag && !(m.multiple && tag < m.tag) {
				continue
			}
			if decided[tag] != m.verdict {
				t.Fatalf("told %v of %d, decided was %v", m.verdict, tag, decided[tag])
			}
			delete(waiting, tag)
		}
	}
}

// A run of acknowledgements from the oldest on is one method.
func TestBookFoldsRuns(t *testing.T) {
	var b book
	for tag := range uint64(6) {
		b.deliver(tag + 1)
	}
	for _, tag := range []uint64{3, 1, 2, 5} {
		b.decide(tag, acked)
	}
	want := []settlement{{tag: 3, verdict: acked, multiple: true}, {tag: 5, verdict: acked}}
	if got := b.settle(); !slices.Equal(got, want) {
		t.Fatalf("settle = %v, want %v", got, want)
	}
	if got := b.settle(); got != nil {
		t.Fatalf("settled again: %v", got)
	}
}
