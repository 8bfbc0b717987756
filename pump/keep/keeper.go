package keep

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// A Keeper is the record of what one flow installed. One process at a time may have a
// directory open; many goroutines may use it.
type Keeper struct {
	dir string
	age time.Duration

	mu   sync.Mutex // of what is written
	day  string     // of file
	file *os.File
	torn bool // the last line may lack its end

	working sync.Mutex // of what is worked off
	at      position
}

// Open opens the record in dir, which is made when missing. Files are due at the age.
func Open(dir string, age time.Duration) (*Keeper, error) {
	if err := os.MkdirAll(dir, 0o775); err != nil {
		return nil, fmt.Errorf("cannot keep a record of files: %w", err)
	}
	k := &Keeper{dir: dir, age: age}
	k.at = k.position()
	return k, nil
}

// Close ends the record of today.
func (k *Keeper) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.close()
}

func (k *Keeper) close() error {
	if k.file == nil {
		return nil
	}
	err := k.file.Close()
	k.file = nil
	return err
}

// Note records a file, in the part of the day it was installed on (UTC). It does not reach
// the disk before the kernel likes: what a power cut loses stays.
func (k *Keeper) Note(e Entry) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.turn(e.Installed.UTC().Format(dayLayout)); err != nil {
		return fmt.Errorf("cannot record %q: %w", e.Path, err)
	}
	line := e.line()
	if k.torn {
		line = "\n" + line
	}
	_, err := k.file.WriteString(line)
	k.torn = err != nil
	if err != nil {
		return fmt.Errorf("cannot record %q: %w", e.Path, err)
	}
	return nil
}

const dayLayout = "20060102"

// turn opens the part of a day.
func (k *Keeper) turn(day string) error {
	if k.file != nil && k.day == day {
		return nil
	}
	if err := k.close(); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(k.dir, day), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	k.file, k.day, k.torn = f, day, !endsLine(f)
	return nil
}

// endsLine reports whether a file is empty or ends as it should.
func endsLine(f *os.File) bool {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil || end == 0 {
		return err == nil
	}
	var last [1]byte
	_, err = f.ReadAt(last[:], end-1)
	return err == nil && last[0] == '\n'
}

// drop removes a part that is worked off, unless it is being written.
func (k *Keeper) drop(day string) (gone bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.file != nil && k.day == day {
		return false, nil
	}
	err = os.Remove(filepath.Join(k.dir, day))
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return err == nil, err
}
