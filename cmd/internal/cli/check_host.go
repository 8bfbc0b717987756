package cli

import "context"

// checkHost checks every configuration of the host that is enabled, or those named.
func checkHost(_ context.Context, h *hostRun) error {
	places, err := h.places()
	if err != nil {
		return err
	}
	worst := ExitOK
	for _, p := range places {
		if p.Disabled || p.Path == "" {
			continue
		}
		worst = max(worst, status(h.session(p.preset, h.Stdout).check([]string{p.Path})))
	}
	if worst != ExitOK {
		return exitStatus(worst)
	}
	return nil
}
