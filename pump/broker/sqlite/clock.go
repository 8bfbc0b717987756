package sqlite

import (
	"context"
	"database/sql/driver"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// maxAbsence bounds, in milliseconds, how much waiting a restart of the
// machine may add to what lies in queues: the wall clock is all there is to
// measure it by, and it may be wrong by years.
const maxAbsence = int64(time.Hour / time.Millisecond)

// A clock is what time-outs are measured by: milliseconds that never go back
// and follow the machine's time since boot, not the wall clock, which
// operators and NTP set. Each process computes the same value from base.
type clock struct {
	read func() reading
	base int64
}

// A reading is what the machine's clocks say, in milliseconds.
type reading struct {
	boot         string // differs after each boot
	uptime, wall int64
}

func machine() reading {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return reading{strings.TrimSpace(string(id)), uptime(), time.Now().UnixMilli()}
}

func uptime() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0
	}
	return ts.Nano() / int64(time.Millisecond)
}

// now is the pump's time.
func (c *clock) now() int64 { return c.base + c.read().uptime }

// startClock takes the pump's time from the file, carrying it over a boot.
func (c *conn) startClock(ctx context.Context) error {
	r := c.clock.read()
	var boot string
	read := func(row []driver.Value) error {
		boot = row[0].(string)
		c.clock.base = row[1].(int64)
		return nil
	}
	const ask = "SELECT boot, base FROM state"
	if err := c.query(ask, read); err != nil || boot == r.boot {
		return err
	}
	return c.write(ctx, func(tx *tx) error {
		if err := tx.query(ask, read); err != nil || boot == r.boot {
			return err
		}
		return c.carryOver(tx, r)
	})
}

// carryOver sets the time's base for a new boot.
func (c *conn) carryOver(tx *tx, r reading) error {
	var wall, pump int64
	err := tx.query("SELECT seen_wall, seen_pump FROM state", func(row []driver.Value) error {
		wall, pump = row[0].(int64), row[1].(int64)
		return nil
	})
	if err != nil {
		return err
	}
	absent := min(max(r.wall-wall, 0), maxAbsence)
	c.clock.base = pump + absent - r.uptime
	_, err = tx.exec("UPDATE state SET boot=?, base=?, seen_wall=?, seen_pump=?", r.boot, c.clock.base, r.wall, pump+absent)
	return err
}

// noteTime leaves a mark for the next boot to continue from.
func (c *conn) noteTime(tx *tx) error {
	r := c.clock.read()
	_, err := tx.exec("UPDATE state SET seen_wall=?, seen_pump=? WHERE boot=? AND seen_pump<?",
		r.wall, c.clock.base+r.uptime, r.boot, c.clock.base+r.uptime)
	return err
}
