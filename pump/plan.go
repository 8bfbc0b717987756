package pump

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"srpump/post"
	"srpump/pump/config"
	"srpump/pump/fetch"
)

// Defaults of options whose value 0 means: chosen by the flow.
const (
	autoWorkers       = 16
	prefetchFiles     = 512
	prefetchNoFiles   = 2000
	workersShareParts = 4 // one host may occupy all but one of so many parts of the workers
)

// newPlan reads and checks the options of a flow.
func newPlan(c *config.Config, h *Host) (plan, error) {
	v := c.Values
	p := plan{files: !v.Bool("notify_only"), workers: v.Int("instances"), prefetch: v.Int("prefetch"), prefix: v.String("post_topic_prefix"),
		postDir: v.String("post_base_dir"), vip: v.String("vip")}
	var errs [11]error // all that is wrong is said at once
	p.from, errs[0] = h.endpoint(c, consumeOption(c), false)
	p.ephemeral = p.from.isPipe() && c.Path == ""
	errs[7] = p.saves(c)
	if errs[0] == nil {
		errs[1] = p.posts(c, h)
	}
	errs[6] = p.delivers(c)
	errs[8] = checkStage(c, h)
	p.posting = p.posting && !p.simulate
	if p.workers == 0 {
		p.workers = autoWorkers
	}
	switch {
	case p.prefetch > 0:
		p.prefetch *= len(shardsOf(c, p.from)) // it is that of a queue
	case p.files:
		p.prefetch = prefetchFiles
	default:
		p.prefetch = prefetchNoFiles
	}
	if p.prefix == "" {
		p.prefix = post.PrefixRead(v.String("topic_prefix"))
	}
	if p.posting {
		errs[9] = checkPrefix(p.prefix)
	}
	p.baseMode = baseMode(c)
	p.inflight, errs[2] = fetch.ParseInflight(v.String("inflight"))
	p.sync, errs[3] = fetch.ParseSync(v.String("fsync"))
	p.headers, p.drop, errs[4] = headerOption(c)
	errs[5] = checkQueue(c)
	if c.Preset != config.Sender { // what a destination takes is for its own host to say
		p.largest = v.Size("max_file_size")
		p.least, errs[10] = config.ParseFreeSpace(v.String("min_free"))
	}
	return p, errors.Join(errs[0], errs[1], about("inflight", errs[2]), about("fsync", errs[3]), about("header", errs[4]), about("queue_type", errs[5]), about("destination", errs[6]), errs[7], about("stage", errs[8]),
		about("post_topic_prefix", errs[9]), about("min_free", errs[10]))
}

// checkPrefix refuses to announce under the name of a version that is written by nobody here: what is under it would
// be in the form of v02. Prefixes that name no version later than v03 are in use, and are their users' own.
func checkPrefix(prefix string) error {
	word, _, _ := strings.Cut(prefix, ".")
	digits, is := strings.CutPrefix(word, "v")
	if n, err := strconv.Atoi(digits); !is || err != nil || n <= 3 {
		return nil
	}
	return fmt.Errorf("cannot announce under %q: announcements are of v02.post or v03.post", prefix)
}

// posts settles whether and where the flow announces.
func (p *plan) posts(c *config.Config, h *Host) (err error) {
	p.posting = p.detour != "" || c.Values.Set("post_broker") || c.Values.String("outlet") != "post" || c.Preset&(config.Sarra|config.Winnow|config.Shovel) != 0
	if !p.posting || p.saving {
		p.posting = false
		return nil
	}
	if p.to, err = h.endpoint(c, postOption(c), true); err != nil {
		return err
	}
	if p.route, err = newRoute(c, p.from, p.to); err != nil {
		return err
	}
	if p.detour != "" {
		p.route = detoured(c, p.route)
	}
	if (p.files || c.Values.String("stage") != "") && c.Preset != config.Sender {
		if p.baseURL, err = postBaseURL(c, p.to); err != nil {
			return err
		}
	}
	return p.refuseLoop(c)
}

// errLoop is a flow that would take in what it gives out.
var errLoop = errors.New("it would consume its own announcements")

// postOption is the option that names the broker posted to: that of the pump's own user when
// they are told no other, but a winnower stays on the broker it consumes from.
func postOption(c *config.Config) string {
	switch {
	case c.Values.Set("post_broker"):
		return "post_broker"
	case c.Values.Set("manager") && c.Preset != config.Winnow:
		return "manager"
	}
	return consumeOption(c)
}

// consumeOption is the option that names the broker consumed from: components of a pump work
// as its manager when they are told no other.
func consumeOption(c *config.Config) string {
	if c.Preset != config.Subscribe && !c.Values.Set("broker") && c.Values.Set("manager") {
		return "manager"
	}
	return "broker"
}

// baseMode is the option srcpath.
func baseMode(c *config.Config) post.BaseMode {
	return map[string]post.BaseMode{"static": post.BaseStatic, "prefix": post.BasePrefix}[c.Values.String("srcpath")]
}
