package daemon

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"srpump/pump/config"
)

// Started is the number of the instance a start makes. The workers of v02 are in one process
// here, which is the first of them.
const Started = 1

// Enter leaves the files operators know of a started configuration: its process number, and
// that it is meant to run. Files of processes that are over are replaced. A configuration that asks
// for so many instances has a number for each, all of this process: commands of v02 on the same host
// then find as many as they expect, and neither start nor stop any of them.
func Enter(st config.State, instances int) error {
	pid := []byte(strconv.Itoa(os.Getpid()))
	var mine []string
	for i := range max(instances, 1) {
		mine = append(mine, st.Pid(Started+i))
		if err := replace(mine[i], pid); err != nil {
			return err
		}
	}
	if err := replace(st.Instances(), []byte(strconv.Itoa(len(mine)))); err != nil {
		return err
	}
	return removePids(st, mine...) // last: there is no moment with too few
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

// Wanted reports whether the configuration was started and nobody stopped it. What v02 has started
// does not count, nor what it has started since: it leaves no progress, and other process numbers.
func Wanted(st config.State) bool {
	if _, err := os.Stat(st.Instances()); err != nil {
		return false
	}
	p, err := ReadProgress(st)
	if err != nil {
		_, err = os.Stat(progressPath(st)) // one that cannot be read is ours all the same
		return err == nil
	}
	ours := []string{strconv.Itoa(p.PID), lastHolder(st)} // a start cut short has come to the lock, but not to the progress
	for _, f := range pids(st) {
		if b, err := os.ReadFile(f); err == nil && !slices.Contains(ours, strings.TrimSpace(string(b))) {
			return false
		}
	}
	return true
}

// lastHolder is the number of the process that has last described itself as the holder of the seat.
func lastHolder(st config.State) string {
	b, _ := os.ReadFile(lockPath(st)) // without one nobody has
	pid, _, _ := strings.Cut(string(b), " ")
	return pid
}

// pids are the files with process numbers of a configuration.
func pids(st config.State) []string {
	dir := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(st.Dir())
	files, _ := filepath.Glob(filepath.Join(dir, "sr_"+st.Component+"_*.pid")) // the pattern is well-formed
	return files
}

func removePids(st config.State, but ...string) (err error) {
	for _, f := range pids(st) {
		if !slices.Contains(but, f) {
			err = errors.Join(err, remove(f))
		}
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
