package pump

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"srpump/pump/config"
	"srpump/test/vsftpd"
)

// A file in blocks is one transfer, with what is here of the whole file, however many of its blocks are fetched.
func TestBlocksAreOneTransfer(t *testing.T) {
	h, content := newHouse(t), noise(4<<20, 1)
	hold := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Range") >= "bytes=2097152-" {
			<-hold
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}))
	t.Cleanup(s.Close)
	f, _ := h.run(config.Subscribe, "-exchange", "xin", "-directory", h.dir+"/got", "-instances", "4", "-host_workers", "4")
	h.post("xin", cutUp(s.URL+"/", "big", content, 1<<20, 1700000000)...)
	h.until("two blocks are here and two on their way", func() bool {
		now := f.Transfers()
		if len(now) > 1 {
			t.Fatalf("%d transfers: %+v", len(now), now)
		}
		return len(now) == 1 && now[0].Size == 4<<20 && now[0].Here == 2<<20 && f.Counters.Blocks.Load() == 2
	})
	close(hold)
	h.until("the file is here", func() bool { return h.content("got/big") == string(content) })
	h.until("nothing is on its way", func() bool { return len(f.Transfers()) == 0 })
}

// sr_sender(1): what is delivered is a transfer, held back by kbytes_ps.
func TestDeliveriesAreTransfers(t *testing.T) {
	h, there := newHouse(t), t.TempDir()
	addr := vsftpd.Start(t, there, vsftpd.Options{Password: "s3cret"})
	h.credentials("ftp://ftp:s3cret@" + addr + "/")
	content := string(noise(1<<20, 1))
	h.write("pub/whole", content)
	h.write("pub/blocks", content)
	f, _ := h.run(config.Sender, "-exchange", "xin", "-base_dir", h.dir+"/pub", "-destination", "ftp://ftp@"+addr, "-kbytes_ps", "1", "-instances", "4", "-host_workers", "4")
	h.post("xin", announced("http://nobody.example/", "whole", content, 1700000000))
	h.post("xin", cutUp("http://nobody.example/", "blocks", []byte(content), 1<<19, 1700000000)...)
	h.until("both are on their way", func() bool {
		now := f.Transfers()
		if len(now) != 2 {
			return false
		}
		for _, one := range now {
			if one.Size != 1<<20 || one.Here == 0 || one.Here == 1<<20 {
				return false
			}
		}
		return true
	})
}
