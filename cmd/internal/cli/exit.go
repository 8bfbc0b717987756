package cli

import (
	"context"
	"errors"
	"strconv"

	"srpump/pump/broker"
	"srpump/pump/daemon"
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
	var ended exitStatus
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return ExitOK
	case errors.As(err, new(usageError)):
		return ExitUsage
	case errors.As(err, &ended):
		return int(ended)
	case errors.Is(err, winnow.ErrBusy), errors.Is(err, retry.ErrBusy), errors.Is(err, daemon.ErrBusy):
		return ExitBusy
	case errors.As(err, new(*broker.Error)):
		return ExitBroker
	}
	return ExitFailed
}

// An exitStatus is that of a process which has told its errors itself.
type exitStatus int

func (e exitStatus) Error() string { return "exit status " + strconv.Itoa(int(e)) }
