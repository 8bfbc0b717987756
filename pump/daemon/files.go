package daemon

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"srpump/pump/config"
)

// Started is the number of the instance a start makes. The workers of v02 are in one process
// here, which is the first of them.
const Started = 1

// Enter leaves the files operators know of a started configuration: its process number, and
// that it is meant to run. Files of processes that are over are replaced.
func Enter(st config.State) error {
	if err := removePids(st); err != nil {
		return err
	}
	err := replace(st.Pid(Started), []byte(strconv.Itoa(os.Getpid())))
	if err == nil {
		err = replace(st.Instances(), []byte(strconv.Itoa(Started)))
	}
	return err
}

// Leave removes the process number of a configuration that ended.
func Leave(st config.State) error { return removePids(st) }

// Forget says that the configuration is not meant to run. When somebody runs it by now, it is.
func Forget(st config.State) error {
	return whileFree(st, func() error { return Disown(st) })
}

// Disown is Forget of the process itself that runs the configuration.
func Disown(st config.State) error {
	return errors.Join(removePids(st), remove(st.Instances()), remove(progressPath(st)))
}

// Wanted reports whether the configuration was started and nobody stopped it. What only v02
// has started does not count: it leaves no progress.
func Wanted(st config.State) bool {
	for _, name := range []string{st.Instances(), progressPath(st)} {
		if _, err := os.Stat(name); err != nil {
			return false
		}
	}
	return true
}

func removePids(st config.State) error {
	files, err := filepath.Glob(filepath.Join(st.Dir(), "sr_"+st.Component+"_*.pid"))
	for _, f := range files {
		err = errors.Join(err, remove(f))
	}
	return err
}

func remove(name string) error {
	if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// replace puts data in a file that readers find old or new, never in between. After a power
// cut it may be either: these files say what runs, and then nothing does.
func replace(name string, data []byte) error {
	tmp := name + ".new"
	if err := os.WriteFile(tmp, data, 0o644); err != nil {
		return errors.Join(err, remove(tmp))
	}
	return os.Rename(tmp, name)
}
