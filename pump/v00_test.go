package pump

import (
	"testing"

	"srpump/pump/broker"
	"srpump/pump/config"
)

// Announcements of v00 are bound by their prefix and go on as v02, with the time they came; those
// of v01 are set aside.
func TestV00IsReadAndGoesOnAsV02(t *testing.T) {
	h := newHouse(t)
	got := h.capture("xout")
	f, stop := h.run(config.Shovel, "-topic_prefix", "v00.dd.notify", "-subtopic", "radar.#", "-topic_prefix", "v01.post", "-subtopic", "#", "-topic_prefix", "v00.dd.notify",
		"-exchange", "xpublic", "-post_exchange", "xout")
	h.publish("xpublic", broker.Publishing{Key: "v01.post.radar", Body: []byte("20200102030405.25 http://h/ radar/x")},
		broker.Publishing{Key: "v00.dd.notify.radar.GIF", Body: []byte("6f5902ac237024bdd0c176cb93063dc4 12 http://h.example/ radar/GIF/a.gif")})
	h.until("it goes on", func() bool { return len(got()) == 1 })
	stop()
	a := got()[0]
	if a.Topic != "v02.post.radar.GIF" || a.Path != "radar/GIF/a.gif" || a.Sum.Method != "d" || a.Size() != 12 || a.Header("source") != "metpx" || a.Time.IsZero() {
		t.Errorf("%+v", a)
	}
	if f.Counters.Malformed.Load() != 1 {
		t.Errorf("malformed %d", f.Counters.Malformed.Load())
	}
}
