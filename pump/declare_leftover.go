package pump

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	"srpump/pump/blocks"
	"srpump/pump/config"
	"srpump/pump/fetch"
)

// removeUnfinished removes the temporary files that only the state of a configuration knows of: those of fetches that
// were interrupted, and of files in blocks. What is another's by now, or locked, stays.
func removeUnfinished(c *config.Config, h *Host) error {
	dir := c.State().Dir()
	partials := fetch.Partials{Dir: filepath.Join(dir, "partial")}
	swept, err := partials.Sweep(time.Unix(math.MaxInt32, 0))
	for _, path := range swept {
		h.Log.Info("deleted", "path", path)
	}
	store, serr := blocks.OpenStore(filepath.Join(dir, "blocks"), true)
	if err := errors.Join(err, serr); err != nil {
		return err
	}
	names := store.Unfinished()
	if len(names) == 0 {
		return nil
	}
	inflight, err := fetch.ParseInflight(c.Values.String("inflight"))
	if err != nil {
		return err
	}
	for _, name := range names {
		journal, err := store.OpenNamed(name)
		if err != nil {
			continue // it names nothing
		}
		file := journal.File()
		journal.Close()
		path, err := removeAssembly(file, inflight, dir)
		if err != nil {
			return err
		}
		if path != "" {
			h.Log.Info("deleted", "path", path)
		}
	}
	return nil
}

// removeAssembly removes the temporary file of a file in blocks, and returns its path if it was there.
func removeAssembly(file blocks.File, inflight fetch.Inflight, tag string) (string, error) {
	if _, err := os.Stat(file.Root); file.Temp == (blocks.TempID{}) || errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	tree, err := fetch.OpenTree(file.Root, fetch.TreeOptions{})
	if err != nil {
		return "", err
	}
	defer tree.Close()
	temp, err := fetch.OpenSparse(fetch.Job{Tree: tree, Path: file.Path, Inflight: inflight, Tag: tag}, fileID(file.Temp))
	if err != nil {
		return "", nil // it is gone, or somebody's
	}
	path := temp.TempPath()
	temp.Discard()
	return path, nil
}
