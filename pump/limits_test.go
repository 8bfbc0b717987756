package pump

import (
	"strings"
	"testing"

	"srpump/pump/config"
)

// That a file in blocks is larger than max_file_size is said once, and counted for each block.
func TestOversizedBlocksSaidOnce(t *testing.T) {
	h := newHouse(t)
	f, _ := h.run(config.Subscribe, "-directory", h.dir+"/out", "-max_file_size", "2k")
	h.post("xpublic", cutUp("http://127.0.0.1:1/", "x", noise(3000, 5), 1000, 1700000000)...)
	h.settled(f, 3)
	if n, said := f.Counters.GivenUp.Load(), strings.Count(h.log.String(), "given up"); n != 3 || said != 1 {
		t.Errorf("%d given up, said %d times", n, said)
	}
}
