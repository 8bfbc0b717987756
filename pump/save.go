package pump

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"srpump/pump/config"
	"srpump/pump/retry"
)

// A saver writes what comes in to a file, and does nothing else with it (sr_options(5), save): what
// arrives while one batch goes to the disk is the next one.
type saver struct {
	f     *Flow
	file  *retry.SaveFile
	jobs  chan saving
	stop  chan struct{}
	over  sync.WaitGroup
	count int64
}

type saving struct {
	j    *job
	line []byte
}

var (
	errSaveRestore = errors.New("cannot save and restore at once: take one of the two out")
	errOnlyRestore = errors.New("cannot use restore_to_queue without restore: it is for what the option save has kept")
)

// saves reads what a flow does with a save file in place of its work: add to it (saving), or give
// what it holds to one queue (detour).
func (p *plan) saves(c *config.Config) error {
	save, restore, queue := c.Values.Bool("save"), c.Values.Bool("restore"), c.Values.String("restore_to_queue")
	switch {
	case save && restore:
		return about("save", errSaveRestore)
	case queue != "" && !restore:
		return about("restore_to_queue", errOnlyRestore)
	}
	p.saving, p.restoring, p.detour = save, restore, queue
	if save || queue != "" {
		p.files = false
	}
	return nil
}

// works reports whether the flow does its work: announcements that wait on disk are for it.
func (p *plan) works() bool { return !p.saving && p.detour == "" }

// saveFile is the file of an instance, named as v02 did: in the state directory, or what save_file
// says and the last ten characters of that name.
func saveFile(c *config.Config, h *Host, instance int) string {
	path, prefix := c.State().Save(instance), c.Values.String("save_file")
	if prefix == "" {
		return path
	}
	if !filepath.IsAbs(prefix) {
		prefix = filepath.Join(h.Cwd, prefix)
	}
	return prefix + path[len(path)-saveSuffix:]
}

// saveSuffix is how much of the name of a save file v02 puts behind save_file.
const saveSuffix = 10

// saveFiles are those there are, of all instances, in the order of their names.
func saveFiles(c *config.Config, h *Host) ([]string, error) {
	first := saveFile(c, h, 0)
	stem := strings.TrimSuffix(filepath.Base(first), "00.save")
	entries, err := os.ReadDir(filepath.Dir(first))
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), stem)
		number, save := strings.CutSuffix(number, ".save")
		if ok && save && number != "" && strings.Trim(number, "0123456789") == "" {
			out = append(out, filepath.Join(filepath.Dir(first), e.Name()))
		}
	}
	slices.Sort(out)
	return out, nil
}

// openSaver begins to save where that is asked for.
func (f *Flow) openSaver(ctx context.Context) error {
	if !f.plan.saving {
		return nil
	}
	path := saveFile(f.cfg, f.host, max(f.cfg.Values.Int("no"), 0))
	file, err := retry.OpenSave(path)
	if err != nil {
		return err
	}
	f.saver = &saver{f: f, file: file, jobs: make(chan saving, f.plan.prefetch), stop: make(chan struct{})}
	f.saver.over.Go(func() { f.saver.run(ctx) })
	f.host.Log.Info("saving", "file", path)
	return nil
}

// add saves one announcement; it waits for nothing but room.
func (s *saver) add(j *job) {
	line, err := retry.EncodeSaved(j.a)
	if err != nil {
		s.f.giveUp(j, err)
		return
	}
	s.jobs <- saving{j, line}
}

func (s *saver) run(ctx context.Context) {
	for {
		select {
		case first := <-s.jobs:
			if !s.write(ctx, s.batch(first)) {
				return
			}
		case <-s.stop:
			if len(s.jobs) > 0 {
				s.write(ctx, s.batch(<-s.jobs))
			}
			return
		}
	}
}

// batch is all that waits.
func (s *saver) batch(first saving) []saving {
	batch := []saving{first}
	for range len(s.jobs) {
		batch = append(batch, <-s.jobs)
	}
	return batch
}

// write puts a batch on the disk and then ends its jobs. A disk that takes nothing is asked again until
// the flow ends: then it all comes again at the next start.
func (s *saver) write(ctx context.Context, batch []saving) bool {
	lines := make([][]byte, len(batch))
	for i := range batch {
		lines[i] = batch[i].line
	}
	for {
		err := s.file.Append(lines)
		if err == nil {
			break
		}
		s.f.host.Log.Error("not saved, trying again", "count", len(batch), "error", err)
		select {
		case <-time.After(writeAgain):
		case <-ctx.Done():
			return false
		}
	}
	for _, b := range batch {
		s.f.end(b.j, done)
	}
	s.count += int64(len(batch))
	return true
}

// close ends saving; what is not on the disk is not acknowledged either.
func (s *saver) close() error {
	close(s.stop)
	s.over.Wait()
	s.f.host.Log.Info("saved", "count", s.count)
	return s.file.Close()
}
