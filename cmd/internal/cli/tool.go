package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"syscall"
)

// A Tool is a command that is no part of a pump and brings its own options; it knows no
// configuration and no broker.
type Tool interface {
	// Name is what it is called.
	Name() string
	// Help is what -h prints.
	Help() string
	// Run does what the arguments say. What is wrong and does not end it goes to warn. An error
	// with a method Usage() string is one of the command line; one with Hint() string says
	// what to do.
	Run(ctx context.Context, args []string, in io.Reader, out io.Writer, warn func(error)) error
}

// A Service is a Tool that ends in good order when it is told to: ctx ends with the first signal, and
// the process waits; a second signal ends it at once.
type Service interface {
	Tool
	// Serve is called in place of Run. Log makes a log on standard error from a level on. An error with
	// a method ExitStatus() int has a status of its own.
	Serve(ctx context.Context, args []string, in io.Reader, out io.Writer, log func(slog.Level) *slog.Logger) error
}

// MainTool runs a tool and ends the process. It needs no home directory.
func MainTool(t Tool) {
	debug.SetGCPercent(gcPercent)
	ctx, _, stop := signals(context.Background(), false)
	code := RunTool(ctx, t, Process{Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr})
	stop()
	os.Exit(code)
}

// RunTool runs a tool, and returns its exit status.
func RunTool(ctx context.Context, t Tool, proc Process) int {
	s := say{t.Name(), proc.Stderr}
	if len(proc.Args) > 0 {
		switch proc.Args[0] {
		case "-h", "-help", "--help", "help":
			io.WriteString(proc.Stdout, t.Help())
			return ExitOK
		case "-V", "-version", "--version":
			io.WriteString(proc.Stdout, t.Name()+" "+Version+"\n")
			return ExitOK
		}
	}
	if service, ok := t.(Service); ok {
		return s.toolEnded(service.Serve(ctx, proc.Args, proc.Stdin, proc.Stdout, func(l slog.Level) *slog.Logger {
			return newLog(proc.Stderr, l, textFormat)
		}))
	}
	ended := make(chan error, 1)
	go func() {
		ended <- t.Run(ctx, proc.Args, proc.Stdin, proc.Stdout, func(err error) { s.errorf("%v", err) })
	}()
	select {
	case err := <-ended:
		return s.toolEnded(err)
	case <-ctx.Done(): // a read that blocks cannot be woken
		return ExitFailed
	}
}

// toolEnded says why a tool ended, unless nobody listens any more.
func (s say) toolEnded(err error) int {
	var usage interface{ Usage() string }
	var hint interface{ Hint() string }
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, syscall.EPIPE):
		return ExitFailed
	case errors.As(err, &usage):
		s.errorf("%v", err)
		s.hint("usage: " + usage.Usage())
		return ExitUsage
	}
	s.errorf("%v", err)
	if errors.As(err, &hint) {
		s.hint(hint.Hint())
	}
	var status interface{ ExitStatus() int }
	if errors.As(err, &status) {
		return status.ExitStatus()
	}
	return ExitFailed
}
