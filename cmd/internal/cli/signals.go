package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// signals is a context that ends with SIGTERM, SIGINT or SIGHUP; a second one
// ends the process at once. A closed pipe is an error where it is written to,
// not a signal.
func signals(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	c := make(chan os.Signal, 2)
	signal.Notify(c, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	signal.Ignore(syscall.SIGPIPE)
	go func() {
		select {
		case <-c:
			cancel()
		case <-ctx.Done():
			return
		}
		<-c
		os.Exit(ExitFailed)
	}()
	return ctx, func() {
		cancel()
		signal.Stop(c)
	}
}

// terminal reports the width of standard error when it is a terminal.
func terminal() (int, bool) {
	ws, err := unix.IoctlGetWinsize(int(os.Stderr.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, false
	}
	return int(ws.Col), true
}
