package daemon

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"srpump/pump/config"
)

// Stranger finds a live process of another program that runs the configuration: a v02 instance,
// which leaves its number in sr_<component>_<config>_NN.pid. A number whose process is over, or
// is about something else by now, is of no meaning. What is our own program holds the lock or
// runs nothing, so it is no stranger.
func Stranger(st config.State) (pid int, found bool) {
	for _, f := range pids(st) {
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
		if err == nil && pid > 0 && runs(pid, st) && !ours(pid) {
			return pid, true
		}
	}
	return 0, false
}

// runs reports whether the command line of a process is one of that component and configuration,
// whatever interpreter stands before them.
func runs(pid int, st config.State) bool {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	if err != nil {
		return false
	}
	words := strings.Split(strings.TrimRight(string(b), "\x00"), "\x00")
	at := slices.IndexFunc(words, func(w string) bool {
		return strings.TrimSuffix(filepath.Base(w), ".py") == "sr_"+st.Component
	})
	return at >= 0 && slices.ContainsFunc(words[at+1:], func(w string) bool { return config.ConfigName(w) == st.Config })
}

// ours reports whether a process is of the program this one is.
func ours(pid int) bool {
	mine, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return false
	}
	its, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "exe"))
	return err == nil && strings.TrimSuffix(its, " (deleted)") == strings.TrimSuffix(mine, " (deleted)")
}
