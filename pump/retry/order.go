package retry

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// What an Order says.
const (
	Requeue = "requeue" // what waits is due now, and dead letters are tried again
	Drop    = "drop"    // neither is tried again
)

// An Order is what somebody wants done with a queue that a process may be working on: a file in
// its directory, carried out by whoever holds the queue, once it is on the disk.
type Order struct {
	Do       string   `json:"do"`
	Patterns []string `json:"patterns"` // see Matches
}

// An Outcome says what an order did.
type Outcome struct {
	Waiting int    `json:"waiting"`         // entries of the queue it changed
	Dead    int    `json:"dead"`            // dead letters it took away
	Left    int    `json:"left"`            // dead letters nobody can understand, which stay where they are
	Error   string `json:"error,omitempty"` // empty when all was done
}

const (
	ordersDir  = "retry.orders"
	orderExt   = ".order"
	outcomeExt = ".done"
	// outcomeKept is for how long an outcome waits for whoever gave the order.
	outcomeKept = time.Hour
)

// Submit leaves an order for the queue in dir, and returns its name. It is on the disk then.
func Submit(dir string, o Order, now time.Time) (name string, err error) {
	orders := filepath.Join(dir, ordersDir)
	if err := os.MkdirAll(orders, 0o700); err != nil {
		return "", err
	}
	name = fmt.Sprintf("%020d.%d", now.UnixNano(), os.Getpid())
	return name, errors.Join(putJSON(filepath.Join(orders, name+orderExt), o), syncDir(dir))
}

// Answer returns what became of an order, once it was carried out, and forgets it.
func Answer(dir, name string) (o Outcome, there bool, err error) {
	path := filepath.Join(dir, ordersDir, name+outcomeExt)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return o, false, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &o)
	}
	return o, true, errors.Join(err, os.Remove(path))
}

// Obey carries out the orders that lie in the directory of the queue, the first given first, and
// calls each with what it did. One cut short by a kill is carried out again.
func (q *Queue) Obey(each func(Order, Outcome)) {
	dir := filepath.Join(filepath.Dir(q.path), ordersDir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // there is none
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		name, is := strings.CutSuffix(path, orderExt)
		if !is {
			q.forget(e, path)
			continue
		}
		o, out := q.obey(path)
		if putJSON(name+outcomeExt, out) == nil && os.Remove(path) == nil {
			each(o, out)
		}
	}
}

// forget removes what nobody came back for.
func (q *Queue) forget(e fs.DirEntry, path string) {
	if fi, err := e.Info(); err == nil && q.opts.Now().Sub(fi.ModTime()) > outcomeKept {
		_ = os.Remove(path) // else the next time
	}
}

func (q *Queue) obey(path string) (o Order, out Outcome) {
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &o)
	}
	if err == nil {
		out, err = q.edit(o)
	}
	if err != nil {
		out.Error = err.Error()
	}
	return o, out
}

// putJSON makes a file that is there in full or not at all.
func putJSON(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path+".tmp", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncDir(filepath.Dir(path))
}
