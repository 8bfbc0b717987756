package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net/url"
	"os"
	"sync"

	modernc "modernc.org/sqlite"
)

// A database is one handle on the file. It is used by one goroutine at a time,
// which conn.mu sees to, and keeps every statement it has prepared. The driver
// is spoken to directly: database/sql costs a third of the throughput of
// small statements and a pool is of no use to one writer.
type database struct {
	handle     driver.Conn
	statements map[string]driver.Stmt
	args       []driver.NamedValue
}

// Settings of every handle. synchronous is NORMAL because commits that must
// survive a power cut are followed by an fsync of the log (see journal).
const settings = "_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)" +
	"&_pragma=cache_size(-2048)&_pragma=wal_autocheckpoint(2000)&_pragma=journal_size_limit(67108864)&_pragma=temp_store(MEMORY)"

func openDatabase(path string) (*database, error) {
	dsn := (&url.URL{Scheme: "file", Path: path}).String() + "?" + settings
	h, err := new(modernc.Driver).Open(dsn)
	if err != nil {
		return nil, err
	}
	return &database{handle: h, statements: map[string]driver.Stmt{}}, nil
}

func (d *database) close() error {
	for _, s := range d.statements {
		s.Close()
	}
	return d.handle.Close()
}

func (d *database) statement(sql string) (driver.Stmt, error) {
	if s := d.statements[sql]; s != nil {
		return s, nil
	}
	s, err := d.handle.Prepare(sql)
	if err != nil {
		return nil, err
	}
	d.statements[sql] = s
	return s, nil
}

// script runs statements that are not worth keeping.
func (d *database) script(sql string) error {
	s, err := d.handle.Prepare(sql)
	if err != nil {
		return err
	}
	defer s.Close()
	_, err = s.(driver.StmtExecContext).ExecContext(context.Background(), nil)
	return err
}

func (d *database) named(args []driver.Value) []driver.NamedValue {
	d.args = d.args[:0]
	for i, a := range args {
		d.args = append(d.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return d.args
}

// exec runs a statement and returns how many rows it changed.
func (d *database) exec(sql string, args ...driver.Value) (int64, error) {
	s, err := d.statement(sql)
	if err != nil {
		return 0, err
	}
	r, err := s.(driver.StmtExecContext).ExecContext(context.Background(), d.named(args))
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// insert runs an INSERT and returns the new id.
func (d *database) insert(sql string, args ...driver.Value) (int64, error) {
	s, err := d.statement(sql)
	if err != nil {
		return 0, err
	}
	r, err := s.(driver.StmtExecContext).ExecContext(context.Background(), d.named(args))
	if err != nil {
		return 0, err
	}
	return r.LastInsertId()
}

// errEnough ends a query early without failing it.
var errEnough = errors.New("enough rows")

// query calls each with every row; the slice is reused, what it points to is not.
func (d *database) query(sql string, each func(row []driver.Value) error, args ...driver.Value) (err error) {
	s, err := d.statement(sql)
	if err != nil {
		return err
	}
	rows, err := s.(driver.StmtQueryContext).QueryContext(context.Background(), d.named(args))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	row := make([]driver.Value, len(rows.Columns()))
	for {
		switch err := rows.Next(row); err {
		case nil:
		case io.EOF:
			return nil
		default:
			return err
		}
		switch err := each(row); err {
		case nil:
		case errEnough:
			return nil
		default:
			return err
		}
	}
}

// number is the single integer a query yields, and whether there was a row.
func (d *database) number(sql string, args ...driver.Value) (n int64, found bool, err error) {
	err = d.query(sql, func(row []driver.Value) error {
		n, _ = row[0].(int64)
		found = true
		return errEnough
	}, args...)
	return n, found, err
}

// A journal makes commits durable. In WAL mode a commit is durable when the log
// file has been synced after it; doing that outside the transaction lets
// others write meanwhile, and one sync serves all commits before it. A log
// that was checkpointed in between has been synced by the checkpoint.
type journal struct {
	path string
	mu   sync.Mutex
	file *os.File
}

func (j *journal) sync() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		f, err := os.Open(j.path + "-wal")
		if err != nil {
			return err
		}
		j.file = f
	}
	return syncData(j.file)
}

func (j *journal) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file != nil {
		j.file.Close()
	}
}
