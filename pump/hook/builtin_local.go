package hook

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"srpump/post"
)

// errNoPlace is an announcement of which nothing says where its file is on this host.
var errNoPlace = fmt.Errorf("%w: the flow places no files, and base_dir is not set", ErrAnswer)

// localFile is the file of an announcement on this host: where the flow puts it, or where it places
// none, below base_dir. The directory is open, and the path cannot lead out of it. What is missing
// there wraps fs.ErrNotExist, here or of what is done with it.
func localFile(env Env, e *Event) (*os.Root, string, error) {
	dir, rel := env.Values.String("base_dir"), e.Announcement.Path
	if e.Root != "" {
		dir, rel = e.Root, strings.TrimPrefix(path.Join(e.Dir, e.File), strings.TrimRight(e.Root, "/")+"/")
	}
	if dir == "" {
		return nil, "", errNoPlace
	}
	rel, err := post.Within(rel)
	if err != nil {
		return nil, "", fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	root, err := os.OpenRoot(dir)
	return root, rel, err
}

// newDelete removes the file an announcement is of, and is done with it.
func newDelete(env Env) (Hook, error) {
	return step(func(_ context.Context, e *Event) (bool, error) {
		root, path, err := localFile(env, e)
		if err != nil {
			return false, ignoreMissing(err)
		}
		defer root.Close()
		fi, err := root.Lstat(path)
		if err == nil && fi.IsDir() {
			return false, nil
		}
		if err == nil {
			err = root.Remove(path)
		}
		if err == nil {
			env.Log.Info("removed by a hook", "path", path, "directory", root.Name())
		}
		return false, ignoreMissing(err)
	}), nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
