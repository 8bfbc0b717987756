package cli

import (
	"testing"

	"srpump/pump/daemon"
)

// sr(1), Status: what stands behind the name of a configuration.
func TestStatusWord(t *testing.T) {
	staged := daemon.Counts{"stage_held": 3, "stage_waiting": 14}
	for _, c := range []struct {
		f    flowState
		want string
	}{
		{flowState{Config: "a"}, "a"},
		{flowState{Config: "a", PID: 1, Progress: &daemon.Progress{Counters: daemon.Counts{"stage_held": 0}}}, "a-i1/1"},
		{flowState{Config: "a", PID: 1, Progress: &daemon.Progress{Retries: 7, Counters: staged}}, "a-i1/1-r7-s3/14"},
		{flowState{Config: "a", State: statePartial, Note: "why"}, "a-i0/1(why)"},
	} {
		if got := c.f.word(); got != c.want {
			t.Errorf("%q, not %q", got, c.want)
		}
	}
}
