package harvest

import (
	"context"
	"errors"
	"fmt"

	"srpump/pipeline/sfm"
)

// A Type is a harvest type: how the interface of a platform is walked.
type Type struct {
	Name     string // as in a start message, such as flickr_user
	Platform string // the third word of routing keys; "" for web
	Service  string // who says it in statuses, such as "Flickr Harvester"
	// Module is the member of state.json its state is in: that of the harvester of SFM where there
	// is one, so that each goes on where the other stopped.
	Module  string
	APIBase string // without a slash at its end; "" where the seed says it
	Stream  bool   // it goes on until it is stopped
	// Apart tells that each seed has a server of its own: no seed waits long for that of another.
	Apart bool
	// MinSeeds and MaxSeeds are how many a request may have; -1 is any number.
	MinSeeds, MaxSeeds int
	// Secrets are the names of query parameters and headers that are not to be recorded, besides
	// all that holds one of the credentials.
	Secrets []string
	// Walk does it. It ends with nil when all was walked, with ErrStopped or what wraps it when it was
	// told to end, with a *Refusal when trying again is of no use, and with anything else to be
	// tried again from the state it has kept.
	Walk func(ctx context.Context, w *Walk) error
	// Check tells what else of a request makes no sense, before anything is asked; may be nil.
	Check func(*sfm.Start) error
}

// ErrStopped is a harvest that is to end or to pause.
var ErrStopped = errors.New("the harvest is told to stop")

// A Refusal is why a harvest cannot be done, however often it is tried; it becomes an error of the
// final status.
type Refusal struct{ sfm.Note }

// Refuse is a Refusal.
func Refuse(code, format string, args ...any) error {
	return &Refusal{sfm.Note{Code: code, Message: fmt.Sprintf(format, args...)}}
}

func (r *Refusal) Error() string { return r.Message }

// check tells what a request of this type lacks.
func (t *Type) check(s *sfm.Start) error {
	n := len(s.Seeds)
	switch {
	case t.MinSeeds >= 0 && n < t.MinSeeds:
		return Refuse(sfm.BadRequest, "a harvest of type %s has at least %d seeds, this one %d", t.Name, t.MinSeeds, n)
	case t.MaxSeeds >= 0 && n > t.MaxSeeds:
		return Refuse(sfm.BadRequest, "a harvest of type %s has at most %d seeds, this one %d", t.Name, t.MaxSeeds, n)
	case t.Check == nil:
		return nil
	}
	if err := t.Check(s); err != nil {
		return Refuse(sfm.BadRequest, "%s", err)
	}
	return nil
}
