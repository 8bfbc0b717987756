package sqlite

import (
	"database/sql/driver"
	"path/filepath"
	"strings"
	"testing"
)

// What runs every second or at each claim must never read all entries.
func TestNoQueryScansEntries(t *testing.T) {
	c := openTest(t, filepath.Join(t.TempDir(), "pump.db")).(*conn)
	defer c.Close()
	for _, sql := range []string{overdueQueues, unusedQueues, returnedEntries, freshEntries, retireClaims, returnedOverdue} {
		err := c.read(func(d *database) error {
			return d.query("EXPLAIN QUERY PLAN "+sql, func(row []driver.Value) error {
				if step := row[3].(string); strings.HasPrefix(step, "SCAN e") {
					t.Errorf("%s: %s", sql, step)
				}
				return nil
			}, make([]driver.Value, strings.Count(sql, "?"))...)
		})
		if err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
