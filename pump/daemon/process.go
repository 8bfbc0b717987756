package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// startField is the 22nd field of /proc/pid/stat, counted from the one behind the name: when
// the process began, in clock ticks since the host did. See proc_pid_stat(5).
const startField = 22 - 3

// startTime is when a process began; the error is fs.ErrNotExist when there is none.
func startTime(pid int) (uint64, error) {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, err
	}
	i := bytes.LastIndexByte(b, ')') // the name before it may hold anything
	fields := strings.Fields(string(b[i+1:]))
	if len(fields) <= startField {
		return 0, fmt.Errorf("cannot read the state of process %d", pid)
	}
	if fields[0] == "Z" || fields[0] == "X" {
		return 0, os.ErrNotExist // over, but not yet waited for
	}
	return strconv.ParseUint(fields[startField], 10, 64)
}

// alive reports whether the process is the one that described itself.
func (h Holder) alive() bool {
	start, err := startTime(h.PID)
	return err == nil && start == h.Start
}

// open returns a handle of the process that no other can inherit; it is os.ErrProcessDone when
// the process is over.
func (h Holder) open() (fd int, err error) {
	if h.PID <= 0 {
		return -1, errors.New("the process has not said who it is")
	}
	fd, err = unix.PidfdOpen(h.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return -1, os.ErrProcessDone
	}
	if err == nil && !h.alive() {
		unix.Close(fd)
		return -1, os.ErrProcessDone
	}
	return fd, err
}

// Signal sends a signal, to this process and to none that has its number by now.
func (h Holder) Signal(sig syscall.Signal) error {
	fd, err := h.open()
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return send(fd, sig)
}

func send(fd int, sig syscall.Signal) error {
	err := unix.PidfdSendSignal(fd, sig, nil, 0)
	if errors.Is(err, unix.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// End tells the process to end, waits for it as long as patience, and then kills it. It
// reports whether it had to.
func (h Holder) End(patience time.Duration) (killed bool, err error) {
	fd, err := h.open()
	if err == nil {
		defer unix.Close(fd)
		err = send(fd, syscall.SIGTERM)
	}
	switch {
	case errors.Is(err, os.ErrProcessDone):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("cannot stop process %d: %w", h.PID, err)
	case gone(fd, patience):
		return false, nil
	}
	if err := send(fd, syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return true, fmt.Errorf("cannot kill process %d: %w", h.PID, err)
	}
	if !gone(fd, patience) {
		return true, fmt.Errorf("cannot kill process %d: the kernel does not end it, perhaps for a disk or network filesystem that does not answer", h.PID)
	}
	return true, nil
}

// gone waits for the end of a process.
func gone(fd int, patience time.Duration) bool {
	for end := time.Now().Add(patience); ; {
		left := time.Until(end)
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(max(left, 0).Milliseconds()))
		if n > 0 {
			return true
		}
		if err == nil && n == 0 || err != nil && !errors.Is(err, unix.EINTR) {
			return false
		}
	}
}
