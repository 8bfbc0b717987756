package harvest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const (
	stateName = "state.json"
	// ownMember is the member of state.json that harvesters of SFM leave as it is: the windows, by
	// module.
	ownMember = "srpump"
	hidden    = ".harvest" // directory of a collection
)

// A state is state.json: by module, values by key (sfm_spool(5), state.json).
type state map[string]map[string]json.RawMessage

func readState(collection string) (state, error) {
	s := state{}
	err := readJSON(filepath.Join(collection, stateName), &s)
	if errors.Is(err, fs.ErrNotExist) {
		return state{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %q: %w", filepath.Join(collection, stateName), err)
	}
	return s, nil
}

// windows are those of a module.
func (s state) windows(module string) (map[string]Window, error) {
	raw, ok := s[ownMember][module]
	if !ok {
		return nil, nil
	}
	var w map[string]Window
	if err := json.Unmarshal(raw, &w); err != nil {
		return nil, fmt.Errorf("cannot read the windows of %q: %w", module, err)
	}
	return w, nil
}

// recall is the state of a module as the disk has it.
func recall(collection, module string) (*memory, error) {
	s, err := readState(collection)
	if err != nil {
		return nil, err
	}
	w, err := s.windows(module)
	if err != nil {
		return nil, err
	}
	return &memory{values: s[module], windows: w}, nil
}

// writeState puts values and windows into state.json, in one step. Other modules of the collection may be
// at it, too. A value that is null, and a window with nothing in it, are forgotten.
func writeState(collection, module string, values map[string]json.RawMessage, windows map[string]Window) error {
	if len(values)+len(windows) == 0 {
		return nil
	}
	lock, err := lockFile(filepath.Join(collection, hidden, "state.lock"), true)
	if err != nil {
		return err
	}
	defer lock.Close()
	s, err := readState(collection)
	if err != nil {
		return err
	}
	if len(values) > 0 {
		s[module] = merged(s[module], values)
		maps.DeleteFunc(s[module], func(_ string, v json.RawMessage) bool { return string(v) == "null" })
	}
	if len(windows) > 0 {
		all, err := s.windows(module)
		if err != nil {
			return err
		}
		all = merged(all, windows)
		maps.DeleteFunc(all, func(_ string, w Window) bool { return w == Window{} })
		raw, err := json.Marshal(all)
		if err != nil {
			return err
		}
		s[ownMember] = merged(s[ownMember], map[string]json.RawMessage{module: raw})
	}
	return replaceJSON(filepath.Join(collection, stateName), s)
}

// lockFile takes a file for this process, until it is closed or the process ends.
func lockFile(path string, wait bool) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o664)
	if err != nil {
		return nil, err
	}
	how := unix.LOCK_EX
	if !wait {
		how |= unix.LOCK_NB
	}
	if err := unix.Flock(int(f.Fd()), how); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = ErrBusy
		}
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
