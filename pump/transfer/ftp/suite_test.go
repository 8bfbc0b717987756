package ftp_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"srpump/pump/transfer"
	"srpump/pump/transfer/ftp"
	"srpump/pump/transfer/transfertest"
	"srpump/test/vsftpd"
)

func harness(t *testing.T) transfertest.Harness {
	dir := t.TempDir()
	server := vsftpd.Start(t, dir, vsftpd.Options{})
	return transfertest.Harness{
		Dir:    dir,
		URL:    func(_, name string) string { return "ftp://" + server + "/" + url.PathEscape(name) },
		Cannot: func(name string) bool { return strings.Contains(name, "\n") },
		New:    func(d time.Duration) transfer.Getter { return ftp.New(ftp.Options{Workers: 8, Timeout: d}) },
	}
}

func TestVsftpd(t *testing.T) {
	transfertest.Run(t, harness(t))
	transfertest.RunList(t, harness(t))
	transfertest.RunWrite(t, harness(t))
}
