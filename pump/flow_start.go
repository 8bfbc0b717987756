package pump

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"srpump/pump/broker"
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
	f.slots = make(chan struct{}, f.plan.prefetch)
	f.pool = newPool(f.plan.workers, f.hostShare(), f.work)
	f.finish = newFinisher(f)
	if f.plan.files {
		f.openTransfers()
	}
	var err error
	if f.in, err = f.host.open(ctx, f.plan.from, f.cfg); err != nil {
		return err
	}
	if f.plan.posting {
		if f.out, err = f.host.open(ctx, f.plan.to, f.cfg); err != nil {
			return err
		}
		if f.announce, err = newAnnouncer(ctx, f.out, f.plan.exchange, f.cfg, f.host, &f.Counters); err != nil {
			return err
		}
		f.announce.patient = !f.plan.ephemeral
	}
	return f.consume(ctx)
}

// openState opens the cache and the retry queue.
func (f *Flow) openState() error {
	if f.plan.ephemeral {
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
	if ttl := f.cfg.Values.Duration("suppress_duplicates"); ttl > 0 {
		if err := f.openCache(ttl); err != nil {
			return err
		}
	}
	ttl := f.cfg.Values.Duration("retry_ttl")
	if f.plan.ephemeral {
		ttl = min(ttl, pipePatience)
	}
	var err error
	f.retries, err = retry.Open(f.state, retry.Options{Logger: f.host.Log, Now: f.host.Now, TTL: ttl, MaxPermanent: f.cfg.Values.Int("retry_permanent")})
	return err
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
	if kept, err := os.ReadFile(path); err == nil {
		n, _ := strconv.Atoi(strings.TrimSpace(string(kept)))
		f.suspects = max(n, f.plan.prefetch)
	}
	return f.writeMark(path, max(f.suspects, f.plan.prefetch))
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

// hostShare is how many workers one source host may occupy.
func (f *Flow) hostShare() int {
	if n := f.cfg.Values.Int("host_workers"); n > 0 {
		return n
	}
	return max(1, f.plan.workers-f.plan.workers/workersShareParts)
}

func (f *Flow) openTransfers() {
	v := f.cfg.Values
	allowed := make(map[string]bool)
	for _, h := range v.List("allow_hosts") {
		allowed[strings.ToLower(h)] = true
	}
	o := transfer.HTTPOptions{
		Workers: f.plan.workers, Timeout: v.Duration("timeout"), UserAgent: "srpump/" + f.host.Version, Credentials: f.credentials,
		TLSRigour: map[string]transfer.TLSRigour{"strict": transfer.TLSStrict, "lax": transfer.TLSLax}[v.String("tls_rigour")],
	}
	if len(allowed) > 0 {
		o.AllowHost = func(host string) bool { return allowed[strings.ToLower(host)] }
	}
	web := transfer.NewHTTP(o)
	f.sources = transfer.Set{"http": web, "https": web, "file": transfer.NewFile(transfer.FileOptions{BaseDir: v.String("base_dir")})}
	f.install = fetch.NewInstaller(fetch.InstallerOptions{Sync: f.plan.sync})
}

// credentials gives out a secret only for a host credentials.conf names.
func (f *Flow) credentials(u *url.URL) (user, password, bearer string) {
	c, err := f.cfg.Credentials.Lookup(u.Scheme + "://" + u.Host + "/")
	if err != nil || !c.Listed {
		return "", "", ""
	}
	return c.User, string(c.Password), string(c.Token)
}

// consume declares the queue and its bindings, and starts the consumer.
func (f *Flow) consume(ctx context.Context) error {
	q, err := f.queueName()
	if err != nil {
		return err
	}
	if !f.plan.from.isPipe() {
		if err := f.declareQueue(ctx, q); err != nil {
			return err
		}
		f.host.Log.Info("consuming", "broker", f.plan.from, "queue", q)
	}
	f.consumer, err = f.in.Consume(ctx, q, broker.ConsumeOptions{Prefetch: f.plan.prefetch, Name: f.cfg.Preset.Program() + "." + f.cfg.Name})
	return err
}

// adoptedExpire is what v02 hosts declared their queues with when nothing was said.
const adoptedExpire = 5 * time.Minute

func (f *Flow) declareQueue(ctx context.Context, name string) error {
	v := f.cfg.Values
	q := broker.Queue{Name: name, Transient: !v.Bool("durable"), Expires: v.Duration("expire"), MessageTTL: v.Duration("message_ttl")}
	if f.plan.from.isLocal() && !v.Set("expire") {
		q.Expires = 0
	}
	if v.Bool("reset") {
		if err := f.in.DeleteQueue(ctx, name); err != nil {
			return err
		}
	}
	if v.Bool("declare_queue") {
		_, err := f.in.DeclareQueue(ctx, q)
		if errors.Is(err, broker.ErrPrecondition) && !v.Set("expire") {
			q.Expires = adoptedExpire
			_, err = f.in.DeclareQueue(ctx, q)
		}
		if err != nil {
			return err
		}
	}
	if v.Bool("bind_queue") {
		return f.bind(ctx, name)
	}
	return nil
}

// bind binds the queue, making the exchanges of a local broker, where who
// comes first makes them.
func (f *Flow) bind(ctx context.Context, queue string) error {
	for _, b := range f.cfg.Bindings {
		if f.plan.from.isLocal() {
			if err := f.in.DeclareExchange(ctx, broker.Exchange{Name: b.Exchange}); err != nil {
				return err
			}
		}
		if err := f.in.Bind(ctx, broker.Binding{Queue: queue, Exchange: b.Exchange, Pattern: b.Key()}); err != nil {
			return err
		}
	}
	return nil
}

// queueName is the name remembered, configured or made up, in this order; a made-up one is
// remembered. Hosts with one configuration share a queue, but subscribers each have their own.
func (f *Flow) queueName() (string, error) {
	if f.plan.from.isPipe() {
		return "-", nil
	}
	user := f.plan.from.user
	if user == "" {
		user = "local"
	}
	file := f.cfg.State().QueueName(user, -1)
	want := f.cfg.Values.String("queue_name")
	if kept, err := os.ReadFile(file); err == nil && len(strings.TrimSpace(string(kept))) > 0 {
		name := strings.TrimSpace(string(kept))
		if want != "" && want != name {
			f.host.Log.Warn("queue name remembered, not the configured one", "queue", name, "configured", want, "hint", "remove "+file+" to change it")
		}
		return name, nil
	}
	if want == "" {
		want = f.makeQueueName(user)
	}
	if err := writeFile(file, []byte(want)); err != nil {
		return "", fmt.Errorf("cannot remember the queue name: %w", err)
	}
	return want, nil
}

func (f *Flow) makeQueueName(user string) string {
	name := fmt.Sprintf("q_%s.%s.%s", user, f.cfg.Preset.Program(), f.cfg.Name)
	if s := f.cfg.Values.String("queue_suffix"); s != "" {
		name += "." + s
	}
	if f.cfg.Preset == config.Subscribe {
		name += fmt.Sprintf(".%08d.%08d", rand.IntN(1e8), rand.IntN(1e8))
	}
	return name
}
