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
		Dir: dir, Addr: server, Passive: true,
		URL:    func(addr, name string) string { return "ftp://" + addr + "/" + url.PathEscape(name) },
		Cannot: lineEnds,
		New:    func(d time.Duration) transfer.Getter { return ftp.New(ftp.Options{Workers: 8, Timeout: d}) },
	}
}

func suites() map[string]func(*testing.T, transfertest.Harness) {
	return map[string]func(*testing.T, transfertest.Harness){"get": transfertest.Run, "list": transfertest.RunList, "write": transfertest.RunWrite}
}

func TestVsftpd(t *testing.T) {
	for part, run := range suites() {
		t.Run(part, func(t *testing.T) { run(t, harness(t)) })
	}
}

// lineEnds are what FTP carries in no name.
func lineEnds(name string) bool { return strings.Contains(name, "\n") }
