package adopt

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"srpump/pump/config"
)

// Left reports whether v02 has left something in the state directory of a configuration that Own
// would take over.
func Left(cfg *config.Config) bool { return len(own(cfg)) > 0 }

// Own takes over what v02 has left in the state directory of one configuration, as Apply does for
// all of a host, and logs each file. The caller holds the lock of the directory, and no process
// of v02 runs the configuration.
func Own(cfg *config.Config, log *slog.Logger, now time.Time) error {
	var errs []error
	for _, i := range own(cfg) {
		if _, err := os.Stat(i.Path); err != nil {
			continue // all files of a retry queue go with the first
		}
		if err := i.takeHeld(log, now); err != nil {
			errs = append(errs, fmt.Errorf("cannot adopt %q: %w", i.Path, err))
			continue
		}
		log.Info("taken over", "file", i.Path, "kept", i.Path+adopted)
	}
	return errors.Join(errs...)
}

// own is what is to be imported; without a cache of ours, one of v02 stays as it is.
func own(cfg *config.Config) (out []Item) {
	for _, i := range state(cfg, false) {
		if i.Verdict == Imports && (i.kind != cache || cfg.Values.Duration("suppress_duplicates") > 0) {
			out = append(out, i)
		}
	}
	return out
}
