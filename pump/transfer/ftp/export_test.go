package ftp

import "time"

// Age makes idle connections older.
func (f *FTP) Age(by time.Duration) {
	f.pool.mu.Lock()
	defer f.pool.mu.Unlock()
	for _, idle := range f.pool.idle {
		for _, c := range idle {
			c.since = c.since.Add(-by)
		}
	}
}

// Expire does what the pool does once a minute.
func (f *FTP) Expire() { f.pool.expire() }
