package harvest_test

import (
	"context"
	"strings"
	"testing"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/harvest"
	"srpump/pipeline/sfm/platform/apitest"
)

// An API that all seeds share is waited for, which is told at once.
func TestALongWaitIsTold(t *testing.T) {
	d, api := newFlickrDesk(t, 2)
	api.Fail("photo_id=101", -1, apitest.Status(429, "Retry-After", "999999"))
	ctx, pause := context.WithCancel(t.Context())
	defer pause()
	waits := func() bool {
		for _, s := range d.statuses() {
			if s.Status == sfm.Running && strings.Contains(codes(s.Infos), "harvest_waits") {
				return true
			}
		}
		return false
	}
	go func() {
		await(t, "the wait", waits)
		pause()
	}()
	d.run(ctx, d.job("a1", "flickr_user", joe), harvest.Paused)
	if !waits() {
		t.Errorf("said %s", d.words())
	}
}
