package cli

import (
	"context"

	"srpump/pump/config"
)

// checkHost checks every configuration of the host that is enabled, or those named; those of
// sr_post too.
func checkHost(_ context.Context, h *hostRun) error {
	places, err := h.placesBut(config.Audit)
	if err != nil {
		return err
	}
	r := newCheckReport()
	for _, p := range places {
		if !p.Disabled && p.Path != "" {
			r.add(h.session(p.preset, h.Stdout).examine(p.Path))
		}
	}
	return r.print(h.Stdout, h.flags["json"])
}
