package transfer_test

import (
	"context"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"srpump/pump/serve"
	"srpump/pump/transfer"
	"srpump/pump/transfer/transfertest"
	"srpump/test/nginx"
)

func httpHarness(dir, addr string) transfertest.Harness {
	return transfertest.Harness{
		Dir: dir, Addr: addr,
		URL: func(addr, name string) string { return "http://" + addr + "/" + url.PathEscape(name) },
		New: func(d time.Duration) transfer.Getter {
			return transfer.NewHTTP(transfer.HTTPOptions{Workers: 8, Timeout: d})
		},
	}
}

func TestHTTPWithNginx(t *testing.T) {
	dir := t.TempDir()
	addr := strings.TrimPrefix(nginx.Start(t, dir), "http://")
	transfertest.Run(t, httpHarness(dir, addr))
}

func TestHTTPWithServe(t *testing.T) {
	dir := t.TempDir()
	h, err := serve.Handler(serve.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- serve.Serve(ctx, ln, h, slog.New(slog.DiscardHandler)) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	transfertest.Run(t, httpHarness(dir, ln.Addr().String()))
}

func TestFile(t *testing.T) {
	for _, base := range []bool{false, true} {
		dir := t.TempDir()
		var o transfer.FileOptions
		if base {
			o.BaseDir = dir
		}
		transfertest.Run(t, transfertest.Harness{
			Dir: dir,
			URL: func(_, name string) string { return transfer.FileURL(filepath.Join(dir, name)) },
			New: func(time.Duration) transfer.Getter { return transfer.NewFile(o) },
		})
	}
}
