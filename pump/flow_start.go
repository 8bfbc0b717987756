package pump

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"srpump/pump/config"
	"srpump/pump/fetch"
	"srpump/pump/retry"
	"srpump/pump/transfer"
	"srpump/winnow"
)

// start opens everything, the consumer last, so that nothing comes in before it can be
// dealt with.
func (f *Flow) start(ctx context.Context) error {
	if err := f.openState(); err != nil {
		return err
	}
	if err := f.startHooks(ctx); err != nil {
		return err
	}
	f.slots = make(chan struct{}, f.plan.prefetch)
	f.pool = newPool(f.plan.workers, f.hostShare(), f.newestFirst(), f.work)
	f.finish = newFinisher(f)
	if f.plan.files {
		f.openTransfers()
		f.openSender()
	}
	var err error
	if f.plan.detour == "" {
		if f.in, err = f.host.open(ctx, f.plan.from, f.cfg); err != nil {
			return err
		}
	}
	if f.plan.posting {
		if f.out, err = f.host.open(ctx, f.plan.to, f.cfg); err != nil {
			return err
		}
		if f.plan.detour != "" {
			if f.leave, err = openDetour(ctx, f.out, f.plan.route, f.plan.detour, f.host.Log); err != nil {
				return err
			}
		}
		if f.announce, err = newAnnouncer(ctx, f.out, f.plan.route, f.cfg, f.host, &f.Counters); err != nil {
			return err
		}
		f.announce.patient = !f.plan.ephemeral && f.plan.detour == ""
	}
	if err := f.openSaver(ctx); err != nil {
		return err
	}
	if err := f.openStage(); err != nil {
		return err
	}
	if f.plan.works() && !f.plan.simulate {
		f.openReports(ctx)
	}
	if f.plan.detour == "" {
		if err := f.consume(ctx); err != nil {
			return err
		}
		f.onlyLook()
	}
	return f.openRestorer()
}

// startHooks asks whether to start, and removes what hooks of a run before this one were fetching.
func (f *Flow) startHooks(ctx context.Context) error {
	if f.hooks == nil {
		return nil
	}
	if err := os.RemoveAll(f.fetching()); err != nil {
		return fmt.Errorf("cannot keep state: %w", err)
	}
	return startHooks(ctx, f.hooks)
}

// openState opens the cache and the retry queue.
func (f *Flow) openState() error {
	if f.plan.ephemeral || f.plan.simulate {
		dir, err := os.MkdirTemp("", f.cfg.Preset.Program()+"-")
		if err != nil {
			return fmt.Errorf("cannot keep state: %w", err)
		}
		f.state = dir
	}
	if err := os.MkdirAll(f.state, 0o775); err != nil {
		return fmt.Errorf("cannot keep state: %w", err)
	}
	if err := f.mark(); err != nil {
		return err
	}
	if ttl := f.cfg.Values.Duration("suppress_duplicates"); ttl > 0 && f.plan.works() {
		if err := f.openCache(ttl); err != nil {
			return err
		}
	}
	if err := f.openKeeper(); err != nil {
		return err
	}
	ttl := f.cfg.Values.Duration("retry_ttl")
	if f.plan.ephemeral {
		ttl = min(ttl, pipePatience)
	}
	var err error
	f.retries, err = retry.Open(f.state, retry.Options{Logger: f.host.Log, Now: f.host.Now, TTL: ttl, MaxPermanent: f.cfg.Values.Int("retry_permanent"), NewestFirst: f.newestFirst()})
	if err != nil {
		return err
	}
	f.opened.Store(f.retries)
	return f.openAssemblies()
}

// pipePatience is how long a pipe that has ended waits for sources that fail.
const pipePatience = 2 * time.Minute

func (f *Flow) openCache(ttl time.Duration) (err error) {
	mode := winnow.One
	if f.cfg.Preset == config.Winnow {
		mode = winnow.Many
	}
	f.cache, err = openCache(f.cfg, f.host, mode, ttl, f.state)
	return err
}

// The mark says that a run has begun and not ended, and how many deliveries it may have had
// in hand: after a kill they come again, perhaps from a broker that no longer knows that it handed them
// out. It stays until all of them can have come.
func (f *Flow) mark() error {
	path := filepath.Join(f.state, "running")
	hand, err := f.inHand()
	if err != nil {
		return err
	}
	if kept, err := os.ReadFile(path); err == nil {
		n, _ := strconv.Atoi(strings.TrimSpace(string(kept)))
		f.suspects = max(n, hand)
	}
	return f.writeMark(path, max(f.suspects, hand))
}

// inHand is how many deliveries a run may have had: what is asked for of all queues together, but at
// least one of each.
func (f *Flow) inHand() (int, error) {
	if f.plan.from.isPipe() || f.plan.detour != "" {
		return f.plan.prefetch, nil
	}
	left, err := leftInlets(f.cfg, f.host, f.plan.from)
	return max(f.plan.prefetch, len(newInlets(f.cfg, f.host, f.plan.from))+len(left)), err
}

// unmark ends the mark of a run that stopped cleanly.
func (f *Flow) unmark() error {
	path := filepath.Join(f.state, "running")
	if f.suspects > 0 {
		return f.writeMark(path, f.suspects)
	}
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (f *Flow) writeMark(path string, n int) error {
	if err := os.WriteFile(path, []byte(strconv.Itoa(n)+"\n"), 0o600); err != nil {
		return fmt.Errorf("cannot keep state: %w", err)
	}
	return nil
}

// newestFirst is the option order.
func (f *Flow) newestFirst() bool { return f.cfg.Values.String("order") == "newest" }

// hostShare is how many workers one source host may occupy.
func (f *Flow) hostShare() int {
	if n := f.cfg.Values.Int("host_workers"); n > 0 {
		return n
	}
	return max(1, f.plan.workers-f.plan.workers/workersShareParts)
}

func (f *Flow) openTransfers() {
	f.sources = newTransports(f.cfg, f.host, f.plan.workers, f.allows)
	f.sources["file"] = transfer.NewFile(transfer.FileOptions{BaseDir: f.cfg.Values.String("base_dir")})
	f.pace = fetch.NewPace(int64(f.cfg.Values.Int("kbytes_ps")) << 10)
	f.partials = &fetch.Partials{Dir: filepath.Join(f.state, "partial")}
	if !f.plan.ephemeral {
		f.names = fetch.NewNames(filepath.Join(f.state, "inflight"))
	}
	f.install = fetch.NewInstaller(fetch.InstallerOptions{Sync: f.plan.sync})
}

// allows is the option allow_hosts; without it every host may be asked.
func (f *Flow) allows(host string) bool {
	hosts := f.cfg.Values.List("allow_hosts")
	return len(hosts) == 0 || slices.ContainsFunc(hosts, func(h string) bool { return strings.EqualFold(h, host) })
}
