package cli

import (
	"context"
	"errors"

	"srpump/pump/broker"
	"srpump/pump/retry"
	"srpump/winnow"
)

// The exit statuses of all commands; every manual page has this table.
const (
	ExitOK     = 0
	ExitFailed = 1
	ExitUsage  = 2
	ExitBroker = 3
	ExitBusy   = 4
)

// ExitStatuses are the meanings, as the manual pages print them.
func ExitStatuses() map[int]string {
	return map[int]string{
		ExitOK:     "Everything asked for was done.",
		ExitFailed: "Something could not be announced, fetched or written; the log says what.",
		ExitUsage:  "The command line or the configuration cannot be used.",
		ExitBroker: "The broker refused, or could not be reached.",
		ExitBusy:   "Another process works with the same state directory.",
	}
}

// status is the exit status for an error that ended a command.
func status(err error) int {
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return ExitOK
	case errors.As(err, new(usageError)):
		return ExitUsage
	case errors.Is(err, winnow.ErrBusy), errors.Is(err, retry.ErrBusy), errors.Is(err, errBusy):
		return ExitBusy
	case errors.As(err, new(*broker.Error)):
		return ExitBroker
	}
	return ExitFailed
}
