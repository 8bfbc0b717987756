package pump

import (
	"fmt"
	"slices"

	"srpump/post"
	"srpump/pump/broker"
	"srpump/pump/config"
)

// A route says which exchange each announcement is published to.
type route struct {
	exchange string   // for all; empty: the one an announcement came through
	received []string // with an empty exchange, those it may have come through
	shards   int      // of the exchange, chosen by the fingerprint; 0: it is not split
}

// of is the exchange for a.
func (r route) of(a *post.Announcement) string {
	x := r.whole(a)
	if r.shards > 0 {
		return post.ShardName(x, a.Sum.Shard(r.shards))
	}
	return x
}

// whole is the exchange for a before it is split.
func (r route) whole(a *post.Announcement) string {
	switch {
	case r.exchange != "":
		return r.exchange
	case a.Exchange != "":
		return a.Exchange
	}
	return r.received[0] // a line of a retry file by another tool
}

// exchanges are all that may be published to.
func (r route) exchanges() []string {
	whole := r.received
	if r.exchange != "" {
		whole = []string{r.exchange}
	}
	if r.shards == 0 {
		return whole
	}
	var out []string
	for _, x := range whole {
		for i := range r.shards {
			out = append(out, post.ShardName(x, i))
		}
	}
	return out
}

// follows reports whether announcements keep their exchange, which must then be remembered
// with them.
func (r route) follows() bool { return r.exchange == "" }

// String is for people.
func (r route) String() string { return fmt.Sprint(r.exchanges()) }

// newRoute settles where a flow or a poster publishes: as configured, the exchange received
// from (sr_shovel), xs_<user> for posters, and the shared one of a local broker.
func newRoute(c *config.Config, from, to endpoint) (route, error) {
	shards := c.Values.Int("post_exchange_split")
	if received := boundExchanges(c, from); c.Preset == config.Shovel && c.Values.String("post_exchange") == "" && !from.isPipe() && len(received) > 0 {
		return route{received: received, shards: shards}, nil
	}
	x, err := postExchange(c, to)
	return route{exchange: x, shards: shards}, err
}

// sourceExchange is the exchange of a binding: with exchange_suffix that of the user of the
// broker, and without a word of the configuration, for reports, where those go by default.
func sourceExchange(c *config.Config, from endpoint, b config.Binding) string {
	switch suffix := c.Values.String("exchange_suffix"); {
	case suffix != "" && from.user != "":
		return "xs_" + from.user + "_" + suffix
	case c.Preset == config.Report && !c.Values.Set("exchange"):
		return reportExchange(c, from)
	}
	return b.Exchange
}

// boundExchanges are those the queues of a flow are bound to.
func boundExchanges(c *config.Config, from endpoint) (out []string) {
	for _, b := range c.Bindings {
		for _, shard := range shardsOf(c, from) {
			if x := shardName(sourceExchange(c, from, b), shard); !slices.Contains(out, x) {
				out = append(out, x)
			}
		}
	}
	return out
}

// refuseLoop refuses a flow that would take in what it gives out.
func (p *plan) refuseLoop(c *config.Config) error {
	if p.from.isPipe() || p.to.isPipe() || !p.from.same(p.to) || c.Values.Bool("allow_loop") {
		return nil
	}
	for _, x := range boundExchanges(c, p.from) {
		if slices.Contains(p.route.exchanges(), x) {
			return &broker.Error{Op: "post to", Object: x, Kind: errLoop,
				Hint: "set exchange and post_exchange to different ones, or allow_loop on if the topics keep them apart"}
		}
	}
	return nil
}
