package test

import (
	"fmt"
	"testing"

	"srpump/post"
	"srpump/pump/broker"
)

// Announcements moved between two brokers, in either direction, all arrive, each on the
// exchange it came through, whenever the shovel is killed.
func TestShovelBetweenBrokers(t *testing.T) {
	t.Parallel() // it waits more than it works
	onBothBrokers(t, func(t *testing.T, url string) {
		local := "sqlite://" + t.TempDir() + "/there.db"
		t.Run("out", func(t *testing.T) { shovels(t, url, local) })
		t.Run("in", func(t *testing.T) { shovels(t, local, url) })
	})
}

func shovels(t *testing.T, from, to string) {
	n := scale(300, 5000)
	h, here, there := newHost(t), connect(t, from), connect(t, to)
	one, two := fresh("xs_guest"), fresh("xs_guest")
	got1, got2 := captureFrom(t, there, one), captureFrom(t, there, two)
	for _, x := range []string{one, two} {
		must(t, here.DeclareExchange(t.Context(), broker.Exchange{Name: x}))
	}
	args := []string{"-b", from, "-exchange", one, "-subtopic", "#", "-exchange", two, "-subtopic", "#", "-pb", to, "-queue_name", fresh("q_guest_shovel")}
	s := h.start("sr_shovel", args...)
	s.await("consuming")
	for i := range n {
		publish(t, here, announcementTo(t, one, i), announcementTo(t, two, i))
		if i == n/2 {
			s.kill()
			s = h.start("sr_shovel", args...)
		}
	}
	waitFor(t, "all are there", func() bool { return got1.different() == n && got2.different() == n })
	s.stop()
}

// announcementTo is the announcement number i for an exchange.
func announcementTo(t *testing.T, exchange string, i int) broker.Publishing {
	stamp, err := post.ParseTimestamp("20261121000000.1")
	must(t, err)
	path := fmt.Sprintf("%s/f%04d", exchange, i)
	m, err := post.EncodeV02(&post.Announcement{Topic: post.MakeTopic(post.DefaultPrefix, path, true), Time: stamp, Base: "http://h.example/",
		Path: path, Sum: post.OfName(path)})
	must(t, err)
	return broker.Publishing{Exchange: exchange, Key: m.Topic, Headers: m.Headers, Body: m.Body}
}

// different is how many paths were announced, however often each.
func (k *capture) different() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.seen)
}
