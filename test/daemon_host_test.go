package test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// newDaemonHost is a host whose started processes end with the test.
func newDaemonHost(t testing.TB) *host {
	t.Helper()
	h := newHost(t)
	t.Cleanup(func() {
		for _, pid := range h.processes() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return h
}

// configure writes a configuration.
func (h *host) configure(component, name, text string) {
	h.t.Helper()
	h.write("home/.config/sarra/"+component+"/"+name+".conf", text)
}

// processes are those of this host: their command line is of a started instance, and their home
// is the host's.
func (h *host) processes() (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		line, err := os.ReadFile(f)
		if err != nil || !strings.Contains(string(line), "\x00--no\x001\x00") {
			continue
		}
		env, err := os.ReadFile(filepath.Join(filepath.Dir(f), "environ"))
		if err != nil || !strings.Contains(string(env)+"\x00", "HOME="+h.path("home")+"\x00") {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// state is a file in the state directory of a subscriber's configuration.
func (h *host) state(config, file string) string {
	return h.path("home/.cache/sarra/subscribe", config, file)
}

// startLog is the log of a started subscriber.
func (h *host) startLog(config string) string {
	b, _ := os.ReadFile(h.path("home/.cache/sarra/log/sr_subscribe_" + config + "_01.log"))
	return string(b)
}

// logged waits until the log of a started subscriber holds the text so often.
func (h *host) logged(config, text string, times int) {
	h.t.Helper()
	waitFor(h.t, fmt.Sprintf("%s does not log %q", config, text), func() bool {
		return strings.Count(h.startLog(config), text) >= times
	}, func() string { return h.startLog(config) })
}

// A hostStatus is what these tests read of sr status --json.
type hostStatus struct {
	Configurations []struct {
		Component, Config, State, Note string
		Good                           bool
		PID                            int
		Progress                       struct {
			Trouble  string
			Counters map[string]int64
		}
	}
	Running, Processes, Missing, Stray int
}

// status is what sr status says, which ends with the exit status want.
func (h *host) status(want int) hostStatus {
	h.t.Helper()
	out, _ := h.run(want, "", "sr", "status", "--json")
	return h.parse(out)
}

func (h *host) parse(out string) (s hostStatus) {
	h.t.Helper()
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		h.t.Fatalf("%v: %s", err, out)
	}
	return s
}

// pidOf is the process a command says it is about.
func pidOf(t testing.TB, text string) int {
	t.Helper()
	m := regexp.MustCompile(`pid=(\d+)`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no process in %q", text)
	}
	pid, _ := strconv.Atoi(m[1])
	return pid
}

// gone waits until a process is over.
func gone(t testing.TB, pid int) {
	t.Helper()
	waitFor(t, fmt.Sprintf("process %d lives", pid), func() bool {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(b), ") Z ")
	})
}
