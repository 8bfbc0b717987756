package cli

import (
	"context"
	"errors"
	"io"

	"srpump/pump/config"
)

// startHost starts who takes announcements before who makes them: what is announced while
// nobody is bound reaches no one.
func startHost(ctx context.Context, h *hostRun) error {
	places, err := h.places()
	if err != nil {
		return err
	}
	var takers, makers []place
	for _, p := range places {
		if p.preset&(config.Watch|config.Poll) != 0 {
			makers = append(makers, p)
		} else {
			takers = append(takers, p)
		}
	}
	return worse(h.each(ctx, takers, (*session).start), h.each(ctx, makers, (*session).start))
}

// declareHost makes queues and exchanges, also the exchanges which only sr_post announces to.
func declareHost(ctx context.Context, h *hostRun) error {
	places, err := h.placesBut(config.Audit)
	if err != nil {
		return err
	}
	return h.each(ctx, places, actionOf("declare"))
}

// setupHost makes all exchanges before it binds the first queue, as the one often is another
// configuration's. What the first round has to say the second says again.
func setupHost(ctx context.Context, h *hostRun) error {
	places, err := h.placesBut(config.Audit)
	if err != nil {
		return err
	}
	quiet := *h
	quiet.Stdout, quiet.Stderr = io.Discard, io.Discard
	_ = quiet.each(ctx, places, actionOf("declare"))
	return h.each(ctx, places, actionOf("setup"))
}

// worse returns the error with the higher exit status.
func worse(a, b error) error {
	var x, y exitStatus
	if errors.As(a, &x) && errors.As(b, &y) && y > x || a == nil {
		return b
	}
	return a
}
