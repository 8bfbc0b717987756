package cli

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"srpump/pump/adopt"
)

// adoptHost says what becomes of each file of a v02 host, and with --go does it.
func adoptHost(ctx context.Context, h *hostRun) error {
	if len(h.rest) > 0 {
		return usagef("adopt is for the whole host")
	}
	if h.flags["go"] && h.flags["dry-run"] {
		return usagef("--go and --dry-run exclude each other")
	}
	var items []adopt.Item
	var err error
	if h.flags["go"] {
		items, err = adopt.Apply(ctx, h.Env, newLog(h.Stderr, slog.LevelInfo, textFormat), time.Now())
	} else {
		items, err = adopt.Plan(h.Env)
	}
	refused := false
	for _, i := range items {
		refused = refused || i.Verdict == adopt.Refused
		if _, err := fmt.Fprintf(h.Stdout, "%-8s %s%s\n", i.Verdict, i.Path, behind(": ", i.Text)); err != nil {
			return err
		}
	}
	if err == nil && refused {
		return exitStatus(ExitFailed)
	}
	return err
}

func behind(mark, text string) string {
	if text == "" {
		return ""
	}
	return mark + text
}
