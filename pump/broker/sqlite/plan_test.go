package sqlite

import (
	"database/sql/driver"
	"path/filepath"
	"strings"
	"testing"
)

// What runs every second or at each claim finds entries one by one, by their
// id; a range of them, such as a whole queue, would be read in full.
func TestQueriesFindEntriesByID(t *testing.T) {
	c := openTest(t, filepath.Join(t.TempDir(), "pump.db")).(*conn)
	defer c.Close()
	for _, sql := range []string{overdueQueues, unusedQueues, returnedEntries, returnedOverdue} {
		err := c.read(func(d *database) error {
			return d.query("EXPLAIN QUERY PLAN "+sql, func(row []driver.Value) error {
				if step := row[3].(string); strings.Contains(step, " e") && !strings.HasSuffix(step, "(rowid=?)") {
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
