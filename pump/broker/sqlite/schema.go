package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
)

// schemaVersion is kept in the database's user_version.
const schemaVersion = 1

// seqBits is the width of a publishing's number within its queue. An entry's
// id is its queue's id shifted left by seqBits, plus that number, so that one
// b-tree without any index holds every queue in order.
const seqBits = 40

// maxQueueID is the last id that leaves room for seqBits in a positive int64.
const maxQueueID = 1<<(63-seqBits) - 1

// schema: what waits in queue q are the entries numbered cursor+1 to tail, and those
// in returned whose holder is 0. What a consumer holds are the entries that
// still exist in its claims, and those in returned whose holder it is. An
// entry in returned has been handed out before.
const schema = `
CREATE TABLE state (
	id INTEGER PRIMARY KEY CHECK (id = 1),
	generation INTEGER NOT NULL,
	boot TEXT NOT NULL, base INTEGER NOT NULL,
	seen_wall INTEGER NOT NULL, seen_pump INTEGER NOT NULL
);
INSERT INTO state VALUES (1, 1, '', 0, 0, 0);
CREATE TABLE exchange (
	name TEXT PRIMARY KEY, transient INTEGER NOT NULL, autodelete INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE queue (
	id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE,
	transient INTEGER NOT NULL, owner INTEGER NOT NULL, exclusive INTEGER NOT NULL,
	autodelete INTEGER NOT NULL, expires INTEGER NOT NULL, ttl INTEGER NOT NULL,
	args BLOB, maximum INTEGER NOT NULL,
	cursor INTEGER NOT NULL DEFAULT 0, tail INTEGER NOT NULL DEFAULT 0,
	used INTEGER NOT NULL
);
CREATE TABLE binding (
	exchange TEXT NOT NULL, queue INTEGER NOT NULL, pattern TEXT NOT NULL,
	PRIMARY KEY (exchange, queue, pattern)
) WITHOUT ROWID;
CREATE TABLE entry (
	id INTEGER PRIMARY KEY, due INTEGER, exchange TEXT NOT NULL, key TEXT NOT NULL,
	properties BLOB, body BLOB
);
CREATE TABLE returned (id INTEGER PRIMARY KEY, holder INTEGER NOT NULL);
CREATE TABLE session (id INTEGER PRIMARY KEY AUTOINCREMENT, bell TEXT NOT NULL, name TEXT NOT NULL);
CREATE TABLE consumer (
	id INTEGER PRIMARY KEY AUTOINCREMENT, queue INTEGER NOT NULL, session INTEGER NOT NULL, name TEXT NOT NULL
);
CREATE TABLE claim (
	consumer INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
	PRIMARY KEY (consumer, first)
) WITHOUT ROWID;
CREATE TABLE orphan (queue INTEGER PRIMARY KEY);
`

// migrate makes the tables of an empty database and refuses a newer one.
func (c *conn) migrate(ctx context.Context) error {
	v, err := c.userVersion()
	if err != nil || v == schemaVersion {
		return err
	}
	return c.write(ctx, func(tx *tx) error {
		v, err := tx.userVersion()
		if err != nil || v == schemaVersion {
			return err
		}
		if v != 0 {
			return newerSchema(c.path, v)
		}
		if err := tx.script(schema); err != nil {
			return err
		}
		return tx.script(fmt.Sprintf("PRAGMA user_version=%d", schemaVersion))
	})
}

func (d *database) userVersion() (v int64, err error) {
	err = d.query("PRAGMA user_version", func(row []driver.Value) error {
		v = row[0].(int64)
		return nil
	})
	return v, err
}
