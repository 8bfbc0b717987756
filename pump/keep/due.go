package keep

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A position is how far the oldest part was worked off. Where it is lost, the part is gone
// through again, which finds its files gone.
type position struct {
	day    string
	offset int64
}

// step is how many entries are worked off between two looks at whether to go on.
const step = 256

func (k *Keeper) positionFile() string { return filepath.Join(k.dir, "position") }

func (k *Keeper) position() (at position) {
	b, err := os.ReadFile(k.positionFile())
	if err != nil {
		return position{}
	}
	if n, err := fmt.Sscanf(string(b), "%8s %d\n", &at.day, &at.offset); n != 2 || err != nil || at.offset < 0 {
		return position{}
	}
	return at
}

func (k *Keeper) moveTo(at position) error {
	if at == k.at {
		return nil
	}
	k.at = at
	if err := os.WriteFile(k.positionFile(), fmt.Appendf(nil, "%s %d\n", at.day, at.offset), 0o600); err != nil {
		return fmt.Errorf("cannot keep a record of files: %w", err)
	}
	return nil
}

// Due hands out, oldest first, the entries whose age has come at now, each once. It rests
// between steps by calling pause, and ends early when ctx does.
func (k *Keeper) Due(ctx context.Context, now time.Time, pause func(), fn func(Entry)) error {
	k.working.Lock()
	defer k.working.Unlock()
	days, err := k.days()
	if err != nil {
		return err
	}
	for _, day := range days {
		over, err := k.workOff(ctx, day, now.Add(-k.age), pause, fn)
		if err != nil || !over {
			return err
		}
		gone, err := k.drop(day)
		if err != nil || !gone {
			return err
		}
		if err := k.moveTo(position{}); err != nil {
			return err
		}
	}
	return nil
}

// days are the parts there are, the oldest first. Other files there are nobody's.
func (k *Keeper) days() (days []string, err error) {
	entries, err := os.ReadDir(k.dir) // sorted
	if err != nil {
		return nil, fmt.Errorf("cannot read the record of files: %w", err)
	}
	for _, e := range entries {
		if _, err := time.Parse(dayLayout, e.Name()); err == nil {
			days = append(days, e.Name())
		}
	}
	return days, nil
}

// workOff hands out the entries of one part up to the first installed after before, and
// reports whether it came to the end.
func (k *Keeper) workOff(ctx context.Context, day string, before time.Time, pause func(), fn func(Entry)) (over bool, err error) {
	f, err := os.Open(filepath.Join(k.dir, day))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("cannot read the record of files: %w", err)
	}
	defer f.Close()
	at := position{day: day}
	if k.at.day == day {
		at.offset = k.at.offset
	}
	if _, err := f.Seek(at.offset, io.SeekStart); err != nil {
		return false, fmt.Errorf("cannot read the record of files: %w", err)
	}
	r := bufio.NewReader(f)
	for n := 1; ; n++ {
		line, err := r.ReadString('\n')
		if err != nil { // the end, or a line whose end is not written
			return err == io.EOF, k.moveTo(at)
		}
		if e, bad := parse(strings.TrimSuffix(line, "\n")); bad == nil {
			if e.Installed.After(before) {
				return false, k.moveTo(at)
			}
			fn(e)
		}
		at.offset += int64(len(line))
		if n%step == 0 {
			pause()
			if err := k.moveTo(at); err != nil || ctx.Err() != nil {
				return false, err
			}
		}
	}
}
