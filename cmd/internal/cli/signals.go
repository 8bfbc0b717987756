package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// signals is a context that ends with SIGTERM or SIGINT; a second one ends the process at
// once. SIGHUP asks what runs for long to read its configuration again, and ends
// everything else, and also what has a terminal, which then went away. A closed pipe
// is an error where it is written to, not a signal.
func signals(parent context.Context, reloads bool) (ctx context.Context, reload <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	c, asked := make(chan os.Signal, 4), make(chan struct{}, 1)
	signal.Notify(c, syscall.SIGTERM, syscall.SIGINT)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(c, syscall.SIGHUP)
	}
	signal.Ignore(syscall.SIGPIPE)
	_, hasTerminal := terminal()
	mayReload := reloads && !hasTerminal
	go func() {
		for {
			select {
			case sig := <-c:
				if sig == syscall.SIGHUP && mayReload {
					ask(asked)
					continue
				}
				if ctx.Err() != nil {
					os.Exit(ExitFailed)
				}
				cancel()
			case <-parent.Done():
				return
			}
		}
	}()
	return ctx, asked, func() {
		cancel()
		signal.Stop(c)
	}
}

// ask wakes who listens; one request stands for all that are not heard yet.
func ask(asked chan<- struct{}) {
	select {
	case asked <- struct{}{}:
	default:
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
