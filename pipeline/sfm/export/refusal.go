package export

import (
	"errors"
	"fmt"
	"strings"

	"srpump/pipeline/sfm"
)

// A Refusal is why an export cannot be made, however often it is tried; it becomes an error of
// the last status.
type Refusal struct{ sfm.Note }

func (r *Refusal) Error() string { return r.Message }

func refuse(format string, args ...any) error {
	return &Refusal{sfm.Note{Code: sfm.BadRequest, Message: fmt.Sprintf(format, args...)}}
}

func unknownFormat(name string) sfm.Note {
	return sfm.Note{Code: sfm.UnknownFormat, Message: fmt.Sprintf("there is no format %q, only %s", name, strings.Join(Formats(), ", "))}
}

// A PersistError is something that could not be written.
type PersistError struct{ Err error }

func (e *PersistError) Error() string { return e.Err.Error() }

// Unwrap is the cause.
func (e *PersistError) Unwrap() error { return e.Err }

// noteOf is what a requester is told of an error.
func noteOf(err error) sfm.Note {
	var refusal *Refusal
	switch {
	case errors.As(err, &refusal):
		return refusal.Note
	case errors.As(err, new(*PersistError)):
		return sfm.Note{Code: sfm.PersistError, Message: err.Error()}
	}
	return sfm.Note{Code: sfm.UnknownError, Message: err.Error()}
}

// ErrBusy is an export that another process is making.
var ErrBusy = errors.New("another process makes this export")

// ErrMalformed is a request that says not even who asks.
var ErrMalformed = errors.New("it cannot be answered")
