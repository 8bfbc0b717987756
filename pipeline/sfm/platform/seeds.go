package platform

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/harvest"
)

// giveUp is after how many seeds that failed one after the other a walk ends: the API is down.
const giveUp = 3

// each walks seed after seed. One that fails does not keep the others from being walked; then
// the walk has failed all the same, and the next try takes up what is left.
func each(ctx context.Context, w *harvest.Walk, walk func(context.Context, sfm.Seed) error) error {
	var failed []error
	row := 0
	for _, seed := range w.Start().Seeds {
		err := apart(w, walk(ctx, seed))
		var trouble *seedError
		switch {
		case errors.As(err, &trouble):
			w.Warn(known(seed, trouble.trouble), label(seed)+": "+trouble.detail, seed.ID)
			row, err = 0, w.Next(ctx)
		case err == nil:
			row, err = 0, w.Next(ctx)
		case final(ctx, err):
		default:
			w.Log().Warn("harvest leaves a seed", "harvest", w.Start().ID, "seed", seed.ID, "error", err)
			failed, row, err = append(failed, err), row+1, nil
		}
		if err != nil {
			return err
		}
		if row == giveUp {
			break
		}
	}
	return errors.Join(failed...)
}

// apart makes trouble with a seed of what is about its own server, and will not be better soon: it is
// not there at all, or does not want to be asked.
func apart(w *harvest.Walk, err error) error {
	var busy *harvest.BusyError
	switch {
	case errors.As(err, &busy):
		return &seedError{unavailable, err.Error()}
	case w.Apart() && harvest.Nowhere(err):
		return &seedError{notFound, err.Error()}
	}
	return err
}

// plainTokens tells of a seed whose token is no text.
func plainTokens(s *sfm.Start) error {
	for i, seed := range s.Seeds {
		if t := seed.Token; len(t) > 0 && (t[0] == '{' || t[0] == '[') {
			return &sfm.MemberError{Member: fmt.Sprintf("seeds[%d].token", i), Reason: "is not an address but an object or a list"}
		}
	}
	return nil
}

// amount is a number of the request, above 0.
func amount(w *harvest.Walk, name string, preset int64) int64 {
	if n, err := strconv.ParseInt(w.Option(name), 10, 64); err == nil && n > 0 {
		return n
	}
	return preset
}

// words is a list of the request; one word alone is a list of one.
func words(v any) (out []string) {
	switch v := v.(type) {
	case string:
		return strings.FieldsFunc(v, func(c rune) bool { return c == ',' || c == ' ' })
	case []any:
		for _, e := range v {
			out = append(out, fmt.Sprint(e))
		}
	}
	return out
}

// A seedError is trouble with one seed, which trying again does not end. It becomes a warning.
type seedError struct{ trouble, detail string }

func (e *seedError) Error() string { return e.detail }

// The troubles of seeds a requester acts upon.
const (
	notFound     = "not_found"
	unauthorized = "unauthorized"
	suspended    = "suspended"
	unavailable  = "unavailable" // for now
)

// known is the code of a warning: what the seed is known by and its trouble, such as uid_not_found.
func known(seed sfm.Seed, trouble string) string {
	if seed.UID != "" {
		return "uid_" + trouble
	}
	return "token_" + trouble
}

// label is what a warning calls a seed.
func label(seed sfm.Seed) string {
	if seed.Token.Empty() {
		return seed.UID
	}
	return seed.Token.String()
}

// final tells whether an error is about the whole walk: it is to stop, it must not be tried
// again, or what was harvested cannot be kept.
func final(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || errors.Is(err, harvest.ErrStopped) || errors.As(err, new(*harvest.Refusal)) ||
		errors.As(err, new(*harvest.PersistError)))
}
