package pump

import (
	"context"
	"errors"
	"fmt"
	"time"

	"srpump/post"
	"srpump/pump/fetch"
)

// errMismatch is a file whose bytes are not those announced.
var errMismatch = errors.New("what was fetched is not what was announced")

// stableTime is how long a source must hold still between two fetches that are to agree.
const stableTime = time.Second

// agreed reports whether a fetch that is not what was announced equals the one before, so
// that the announcement is what is out of date (sr_options(5), sum_mismatch).
func (f *Flow) agreed(j *job, s *fetch.Staged) bool {
	if j.seen == (post.Fingerprint{}) || s.Sum != j.seen || inBlocks(j.a) && s.Size != j.a.Size() || f.cfg.Values.String("sum_mismatch") != "auto" {
		return false
	}
	f.host.Log.Warn("announced sum is not that of the file, kept as fetched twice", "path", j.at.Full(), "announced", j.a.Sum, "sum", s.Sum)
	return true
}

// mismatch discards bytes that are not what was announced; nobody has seen
// them under the final name. They may be a source caught while it was
// being written: look again a second later.
func (f *Flow) mismatch(ctx context.Context, j *job, s *fetch.Staged) {
	err := fmt.Errorf("%w: %d bytes with sum %s, announced %d with %s", errMismatch, s.Size, s.Sum, j.a.Size(), j.a.Sum)
	sum := s.Sum
	s.Discard()
	again := f.cfg.Values.String("sum_mismatch") == "auto" && j.seen == (post.Fingerprint{}) && sum != post.Fingerprint{}
	if !again {
		f.failed(ctx, j, err)
		return
	}
	f.host.Log.Info("sum mismatch, fetching again", "path", j.at.Full(), "announced", j.a.Sum, "sum", sum)
	j.seen = sum
	time.AfterFunc(stableTime, func() { f.pool.add(ctx, j) })
}
