package sqlite

import (
	"errors"
	"fmt"

	modernc "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"srpump/pump/broker"
)

func fault(op, object string, kind error, reason, hint string) error {
	return &broker.Error{Op: op, Object: object, Kind: kind, Reason: reason, Hint: hint}
}

func connectFault(object string, kind error, reason, hint string) error {
	return fault("open", object, kind, reason, hint)
}

func closedFault(op, object string) error {
	return fault(op, object, broker.ErrClosed, "", "")
}

func noQueue(op, queue string) error {
	return fault(op, queue, broker.ErrNotFound, "no such queue", "declare the queue first; it may have expired unread")
}

func noExchange(op, exchange string) error {
	return fault(op, exchange, broker.ErrNotFound, "no such exchange",
		"declare the exchange first, or check its name; exchanges belong to one database file")
}

func locked(op, queue string) error {
	return fault(op, queue, broker.ErrLocked, "exclusive to another connection",
		"stop the other process, or use another queue name")
}

func expelled(listed bool, queue string) error {
	if listed {
		return nil
	}
	return fault("consume", queue, broker.ErrRefused, "this consumer was taken for dead: its bell is gone",
		"leave the files of the .d directory alone while programs run")
}

func newerSchema(path string, version int64) error {
	return connectFault(path, broker.ErrRefused,
		fmt.Sprintf("its format is version %d, this program knows version %d", version, schemaVersion),
		"a newer srpump wrote it; use that one, or another file")
}

// code is the primary result code of SQLite in err, or 0.
func code(err error) int {
	var e *modernc.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// explain turns what SQLite says when opening into what an operator can act on.
func explain(path string, err error) error {
	var known *broker.Error
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case corrupt(err):
		return connectFault(path, broker.ErrUnreachable, "the file is damaged or no database: "+err.Error(),
			"move the file and its -wal and -shm aside; a new one is made when they are gone")
	case code(err) == sqlite3.SQLITE_FULL:
		return connectFault(path, broker.ErrUnreachable, err.Error(), "free some space on that file system")
	case code(err) == sqlite3.SQLITE_READONLY, code(err) == sqlite3.SQLITE_CANTOPEN:
		return connectFault(path, broker.ErrUnreachable, err.Error(),
			"the file, its -wal and -shm and their directory must be writable for this user")
	}
	return connectFault(path, broker.ErrUnreachable, err.Error(), "")
}

func corrupt(err error) bool {
	return code(err) == sqlite3.SQLITE_CORRUPT || code(err) == sqlite3.SQLITE_NOTADB
}

func busy(err error) bool {
	return code(err) == sqlite3.SQLITE_BUSY || code(err) == sqlite3.SQLITE_LOCKED
}
