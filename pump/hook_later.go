package pump

import (
	"context"
	"time"
)

// await keeps a job on disk until a hook is to see it again (hook.LaterError); only then is its delivery
// acknowledged. Nothing failed, and nobody works at it meanwhile.
func (f *Flow) await(ctx context.Context, j *job, wait time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.over {
		return
	}
	if err := f.toDisk(j); err != nil {
		f.unwritten(ctx, j, err)
		return
	}
	f.host.Log.Debug("waits", "path", j.came.Path, "wait", wait)
	f.retries.Postpone(f.jobs.entry(j), wait)
	j.over = true
	f.finish.add(j, shelved)
}
