package pump

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"srpump/post"
	"srpump/pump/config"
)

// whole is the shard of an exchange that is not split.
const whole = -1

// shardsOf are the shards of its exchanges a configuration reads, each from a queue of its own
// (sr_options(5), exchange_split): as many as instances says, or the whole. A sr_winnow with several
// instances splits unless it is told not to, as v02's did.
func shardsOf(c *config.Config, from endpoint) []int {
	v := c.Values
	n := max(1, v.Int("instances"))
	split := v.Bool("exchange_split") || c.Preset == config.Winnow && n > 1 && v.Set("instances") && !v.Set("exchange_split")
	if !split || from.isPipe() {
		return []int{whole}
	}
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// shardName is the exchange of a shard.
func shardName(exchange string, shard int) string {
	if shard == whole {
		return exchange
	}
	return post.ShardName(exchange, shard)
}

// suffix is what the names of a shard's queue and files end in.
func (q *inlet) suffix() string {
	if q.shard == whole {
		return ""
	}
	return fmt.Sprintf("_%02d", q.shard)
}

// newInlets are the queues a flow is fed from.
func newInlets(c *config.Config, h *Host, from endpoint) (out []*inlet) {
	for _, shard := range shardsOf(c, from) {
		out = append(out, &inlet{cfg: c, host: h, from: from, shard: shard})
	}
	return out
}

// leftInlets are the queues it was fed from with another number of instances, as far as they are remembered.
func leftInlets(c *config.Config, h *Host, from endpoint) (out []*inlet, err error) {
	now := shardsOf(c, from)
	stem := strings.TrimSuffix((&inlet{cfg: c, from: from, shard: whole}).file(), ".qname")
	entries, err := os.ReadDir(filepath.Dir(stem))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot read the queue names: %w", err)
	}
	for _, e := range entries {
		q := &inlet{cfg: c, host: h, from: from, shard: whole}
		if number, ok := strings.CutPrefix(e.Name(), filepath.Base(stem)+"_"); ok {
			if q.shard, err = strconv.Atoi(strings.TrimSuffix(number, ".qname")); err != nil {
				continue
			}
		}
		if filepath.Base(q.file()) == e.Name() && !slices.Contains(now, q.shard) {
			out = append(out, q)
		}
	}
	return out, nil
}
