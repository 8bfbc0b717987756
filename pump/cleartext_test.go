package pump

import (
	"bytes"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"srpump/pump/config"
)

// A secret that anybody on the way can read is warned of once for each server, whether it is fetched from or
// delivered to; what is in TLS, or stays in this host, is not.
func TestClearTextIsWarnedOf(t *testing.T) {
	h := newHouse(t)
	h.credentials("ftp://u:s3cret@far.example/", "ftp://u:s3cret@tls.example/ tls", "ftps://u:s3cret@far.example/", "ftp://u:s3cret@127.0.0.2/",
		"http://u:s3cret@far.example:8080/", "https://u:s3cret@far.example/", "http://token.example/ bearer_token=s3cret")
	c := h.config(config.Subscribe, "-exchange", "xin")
	var log bytes.Buffer
	clear := &cleartext{log: slog.New(slog.NewTextHandler(&log, nil))}
	for range 2 {
		for _, raw := range []string{"ftp://u@far.example/a", "ftp://u@tls.example/a", "ftps://u@far.example/a", "ftp://u@127.0.0.2/a", "ftp://nobody@unlisted.example/a"} {
			u, _ := url.Parse(raw)
			ftpLogins(c, clear)(u)
		}
		for _, raw := range []string{"http://u@far.example:8080/a", "https://u@far.example/a", "http://token.example/a", "http://unlisted.example/a"} {
			u, _ := url.Parse(raw)
			listedSecrets(c, clear)(u)
		}
	}
	for _, want := range []string{"scheme=ftp host=far.example ", "scheme=http host=far.example:8080 ", "scheme=http host=token.example "} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %q in\n%s", want, log.String())
		}
	}
	if strings.Count(log.String(), "\n") != 3 || strings.Contains(log.String(), "s3cret") {
		t.Errorf("it says\n%s", log.String())
	}
}
