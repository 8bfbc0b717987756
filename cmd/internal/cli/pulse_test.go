package cli

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"srpump/pump/daemon"
)

// The logs v02 has left of other instances stay young for as long as this process is well, and no
// longer; none is made.
func TestOtherLogsStayYoung(t *testing.T) {
	dir := t.TempDir()
	there, missing := filepath.Join(dir, "sr_x_02.log"), filepath.Join(dir, "sr_x_03.log")
	if err := os.WriteFile(there, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-time.Hour)
	age := func() time.Time {
		fi, err := os.Stat(there)
		if err != nil {
			t.Fatal(err)
		}
		return fi.ModTime()
	}
	for _, hung := range []bool{true, false} {
		if err := os.Chtimes(there, long, long); err != nil {
			t.Fatal(err)
		}
		p := pulse{others: []string{there, missing}, limit: time.Minute}
		if hung {
			p.p = daemon.Progress{InHand: 1}
		} else {
			p.p = daemon.Progress{MovedUptime: time.Hour}
		}
		p.freshen(time.Hour)
		if young := age().After(long.Add(time.Minute)); young == hung {
			t.Errorf("hung %v: young %v", hung, young)
		}
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("a log was made")
	}
}
