package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"srpump/pump/config"
)

// A running process can be asked how far it is, by a socket in its state directory: what nobody asks for costs
// nothing. Whoever may enter the directory may ask.
const askName = "ask.sock"

// askPatience is how long either side waits for the other.
const askPatience = 5 * time.Second

// ErrSilent is a process that does not answer, or none.
var ErrSilent = errors.New("does not answer")

// inDir calls do with a name of the state directory that is short enough for the address of a socket.
func inDir(st config.State, do func(dir string) error) error {
	d, err := os.Open(st.Dir())
	if err != nil {
		return err
	}
	defer d.Close()
	return do(fmt.Sprintf("/proc/self/fd/%d", d.Fd()))
}

// Answer answers who asks with what tell returns, as JSON, until end is called. The lock of the state
// directory must be held.
func Answer(st config.State, tell func() any) (end func(), err error) {
	path := filepath.Join(st.Dir(), askName)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var l *net.UnixListener
	err = inDir(st, func(dir string) (err error) {
		l, err = net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, askName), Net: "unix"})
		return err
	})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // by then the short name may be another's
	var over sync.WaitGroup
	over.Go(func() {
		for {
			c, err := l.AcceptUnix()
			if err != nil {
				return
			}
			_ = c.SetDeadline(time.Now().Add(askPatience))
			_ = json.NewEncoder(c).Encode(tell()) // who went away has no use for it
			c.Close()
		}
	})
	return func() {
		l.Close()
		over.Wait()
		_ = os.Remove(path)
	}, nil
}

// Ask asks the process of a configuration; the error is ErrSilent when none answers.
func Ask(st config.State, answer any) error {
	var c net.Conn
	err := inDir(st, func(dir string) (err error) {
		c, err = net.DialTimeout("unix", filepath.Join(dir, askName), askPatience)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return ErrSilent
	}
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(askPatience)); err != nil {
		return err
	}
	if err := json.NewDecoder(c).Decode(answer); err != nil {
		return fmt.Errorf("%w: %w", ErrSilent, err)
	}
	return nil
}
