// Package hook runs the programs a configuration has at work between the steps of a flow
// (sr_hooks(7)). It knows announcements and files by name; it does not know flows.
//
//	Event      what a hook is shown, and what of it the hook may change
//	Hook       one line of a configuration: exec:, cmd:, or the name of a built-in one
//	Chain      the hooks of one point, in the order of their lines
//	Set        the chains of a configuration
//	Child      a program that is fed lines and answers in lines
//	Maker      makes a built-in hook; Builtins are those there are
//
// What comes back from a program is checked as an announcement from the wire is, and a program that
// hangs, floods or answers about what it was not asked is ended, and started again.
package hook

import (
	"context"
	"errors"
)

// The points of a flow or poster at which hooks are run. Each is the name of an option.
const (
	OnStart     = "on_start"
	OnStop      = "on_stop"
	OnHeartbeat = "on_heartbeat"
	OnMessage   = "on_message"
	OnData      = "on_data"
	OnPart      = "on_part"
	OnFile      = "on_file"
	OnPost      = "on_post"
	OnReport    = "on_report"
	OnWatch     = "on_watch"
	OnLine      = "on_line"
	OnHTMLPage  = "on_html_page"
	DestFn      = "destfn_script"
	DoDownload  = "do_download"
	DoGet       = "do_get"
	DoPut       = "do_put"
	DoSend      = "do_send"
	DoPoll      = "do_poll"
	DoTask      = "do_task"
	Plugin      = "plugin"
)

// A Hook is one line of a configuration. Many goroutines may run it at once.
type Hook interface {
	// Run shows e to the hook, which may change it, and returns whether to go on. False means
	// that nothing more is to be done. An error says neither: the event is to be tried again.
	Run(ctx context.Context, e *Event) (bool, error)
	// Close ends the hook and waits for what it has started.
	Close() error
}

// ErrAnswer is what every error wraps that is about an answer no hook may give.
var ErrAnswer = errors.New("answer refused")

// ErrClosed is an event for a hook that has been closed; it was not done.
var ErrClosed = errors.New("hook closed")
