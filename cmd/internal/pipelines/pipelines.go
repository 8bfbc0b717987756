// Package pipelines hands the components that are no part of a pump to the front of the commands,
// which does not know them.
package pipelines

import (
	"context"
	"time"

	"srpump/pipeline/spool"
	"srpump/pump"
	"srpump/pump/broker"
	"srpump/pump/config"
	"srpump/pump/daemon"
)

// All are the makers of the workers, by component.
func All() map[config.Preset]func(*config.Config, *pump.Host, []string) (daemon.Worker, error) {
	return map[config.Preset]func(*config.Config, *pump.Host, []string) (daemon.Worker, error){config.Spool: newSpool}
}

func newSpool(c *config.Config, h *pump.Host, args []string) (daemon.Worker, error) {
	return spool.New(c, spool.Host{
		Log: h.Log, Cwd: h.Cwd, Now: h.Now, Ready: h.Ready, Stdin: h.Stdin,
		Instant: func(word string) (time.Time, error) { return pump.ParseTime(word, h.Now()) },
		Open: func(ctx context.Context, option string, once bool) (broker.Conn, error) {
			return pump.Open(ctx, c, h, option, once)
		},
	}, args)
}
