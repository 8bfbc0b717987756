package pump

import (
	"testing"

	"srpump/post"
	"srpump/pump/config"
)

// With source_from_exchange the exchange says who the source is, not the announcement.
func TestSourceFromExchange(t *testing.T) {
	h := newHouse(t)
	web := h.web(map[string]string{"/x": "x"})
	got := h.capture("xcopy")
	_, stop := h.run(config.Sarra, "-declare", "source bob", "-declare", "source bobby", "-source_from_exchange", "-exchange", "xs_bobby",
		"-post_exchange", "xcopy", "-post_base_url", "http://me/", "-directory", h.dir+"/${SOURCE}")
	a := announced(web.URL+"/", "x", "x", 1700000000)
	a.Headers = map[string]any{"source": "somebody", "from_cluster": "elsewhere"}
	h.post("xs_bobby", a)
	h.until("the copy is announced", func() bool { return len(got()) == 1 })
	stop()
	if c := got()[0]; c.Header(post.HeaderSource) != "bobby" || c.Header(post.HeaderFromCluster) == "elsewhere" || h.content("bobby/x") != "x" {
		t.Errorf("%+v", c)
	}
}

// As a file has it, each word is an item.
func TestSourceOf(t *testing.T) {
	declared := []string{"source", "bob", "subscriber", "alice", "source", "bobby"}
	for exchange, want := range map[string]string{"xs_bob": "bob", "xs_bobby_private": "bobby", "xs_alice": "", "xpublic": ""} {
		if got := sourceOf(exchange, declared); got != want {
			t.Errorf("%s: %q, not %q", exchange, got, want)
		}
	}
}

// Posters and forwarders make all exchanges of a split, and choose by the fingerprint.
func TestPostExchangeSplit(t *testing.T) {
	h := newHouse(t)
	two, three := h.capture("xw02"), h.capture("xw03")
	_, stop := h.run(config.Winnow, "-exchange", "xin", "-post_exchange", "xw", "-post_exchange_split", "4", "-report_back", "off")
	a, b := announced("http://h/", "a", "hello world\n", 1700000000), announced("http://h/", "b", "", 1700000000)
	b.Sum = post.Fingerprint{Method: "d", Value: "9dd4e461268c8034f5c8564e155c67a6"}
	h.post("xin", a, b)
	h.until("each is in its own", func() bool { return len(two()) == 1 && len(three()) == 1 })
	stop()
	if two()[0].Path != "a" || three()[0].Path != "b" {
		t.Errorf("%+v %+v", two()[0], three()[0])
	}
}
