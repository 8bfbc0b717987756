package pump

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"srpump/pump/config"
)

// name is the name remembered, configured or made up, in this order; whichever it is, it is remembered.
// Of processes that start at once the first decides for all, v02's among them, which reads the same file.
func (q *inlet) name() (string, error) {
	if q.from.isPipe() {
		return pipeURL, nil
	}
	release, err := q.lock()
	if err != nil {
		return "", err
	}
	defer release()
	want := q.configured()
	kept, err := q.remembered()
	if err != nil {
		return "", err
	}
	if kept != "" {
		if want != "" && want != kept {
			q.host.Log.Warn("queue name remembered, not the configured one", "queue", kept, "configured", want, "hint", "remove "+q.file()+" to change it")
		}
		return kept, nil
	}
	if want == "" {
		want = q.generate()
	}
	if !strings.Contains(want, "q_"+q.user()) && !q.from.isLocal() {
		q.host.Log.Warn("unusual queue name", "queue", want, "hint", "brokers as sr_audit(1) makes them allow names that begin with q_"+q.user())
	}
	return q.remember(want)
}

// configured is the name the configuration gives, with that of the shard behind it; empty when it gives none.
func (q *inlet) configured() string {
	if name := q.cfg.Values.String("queue_name"); name != "" {
		return name + q.suffix()
	}
	return ""
}

// file holds the bare name, without a line end, as v02 wrote it.
func (q *inlet) file() string { return q.cfg.State().QueueName(q.user(), q.shard) }

// remembered is the name in the file; empty when there is none.
func (q *inlet) remembered() (string, error) {
	kept, err := os.ReadFile(q.file())
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("cannot read the queue name: %w", err)
	}
	return strings.TrimSpace(string(kept)), nil
}

// remember writes the name, unless somebody who takes no lock was faster: then theirs counts. An
// empty file, left by a process that was killed before it wrote, does not.
func (q *inlet) remember(name string) (string, error) {
	made := q.file() + ".made"
	if err := writeFile(made, []byte(name)); err != nil {
		return "", fmt.Errorf("cannot remember the queue name: %w", err)
	}
	defer os.Remove(made)
	err := os.Link(made, q.file())
	if errors.Is(err, fs.ErrExist) {
		if kept, err := q.remembered(); kept != "" || err != nil {
			return kept, err
		}
	}
	if err != nil { // an empty file, or a file system without links
		err = os.Rename(made, q.file())
	}
	if err == nil {
		err = syncDir(filepath.Dir(q.file()))
	}
	if err != nil {
		return "", fmt.Errorf("cannot remember the queue name: %w", err)
	}
	return name, nil
}

// lock makes the directory, and keeps other processes of ours from deciding at the same time.
func (q *inlet) lock() (release func(), err error) {
	dir := q.cfg.State().Dir()
	if err := os.MkdirAll(dir, 0o775); err != nil {
		return nil, fmt.Errorf("cannot keep state: %w", err)
	}
	d, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot keep state: %w", err)
	}
	if err := unix.Flock(int(d.Fd()), unix.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot lock %q: %w", dir, err), d.Close())
	}
	return func() { _ = d.Close() }, nil
}

// randomNames are the presets whose queues are each host's own.
const randomNames = config.Subscribe | config.Report

// generate makes a name up: hosts with one configuration share a queue, but subscribers, and
// who reads reports, each have their own.
func (q *inlet) generate() string {
	name := fmt.Sprintf("q_%s.%s.%s", q.user(), q.cfg.Preset.Program(), q.cfg.Name)
	if s := q.cfg.Values.String("queue_suffix"); s != "" {
		name += "." + s
	}
	if q.cfg.Preset&randomNames != 0 {
		name += fmt.Sprintf(".%08d.%08d", rand.IntN(1e8), rand.IntN(1e8))
	}
	return name + q.suffix()
}

// forgetName makes the next start find a name anew.
func (q *inlet) forgetName() error {
	if err := os.Remove(q.file()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
