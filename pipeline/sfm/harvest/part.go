package harvest

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"time"
)

const (
	partSuffix = ".part"
	// syncEvery is how much of a stream a power cut may cost. A kill costs nothing.
	syncEvery = 5 * time.Second
)

// A part is the answer of a stream as it comes, in a file: a line with what is known beforehand, then
// the bytes on the wire. It becomes a record when its length is known.
type part struct {
	file   *os.File
	head   partHead
	from   int64 // where the answer begins
	size   int64 // of the answer
	synced time.Time
}

// A partHead is the first line.
type partHead struct {
	ID      string    `json:"id"` // of the record
	URI     string    `json:"uri"`
	At      time.Time `json:"at"`
	IP      string    `json:"ip"`
	Request []byte    `json:"request"`
}

func openPart(dir string, head partHead) (*part, error) {
	line, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, "stream-*"+partSuffix)
	if err != nil {
		return nil, err
	}
	n, err := f.Write(append(line, '\n'))
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &part{file: f, head: head, from: int64(n), synced: time.Now()}, nil
}

func (p *part) Write(b []byte) (int, error) {
	n, err := p.file.Write(b)
	p.size += int64(n)
	if err == nil && time.Since(p.synced) >= syncEvery {
		err = p.file.Sync()
		p.synced = time.Now()
	}
	return n, err
}

// remove takes it away once it is a record.
func (p *part) remove() error { return errors.Join(p.file.Close(), os.Remove(p.file.Name())) }

// readPart reads what a killed process has left. Without a whole first line there is nothing in it.
func readPart(path string) (*part, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(f).ReadBytes('\n')
	p := &part{file: f, from: int64(len(line))}
	info, statErr := f.Stat()
	if err == nil {
		err = json.Unmarshal(line, &p.head)
	}
	if err != nil || statErr != nil {
		return p, errors.Join(err, statErr)
	}
	p.size = info.Size() - p.from
	return p, nil
}

// ready sees to it that there is an open WARC, so that what is noted of a stream is in its journal.
func (r *recorder) ready() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil || r.file != nil {
		return r.err
	}
	if err := r.open(); err != nil {
		return r.broken(err)
	}
	return nil
}

// addPart records a stream that has ended, but for bytes at its end that are none of it.
func (r *recorder) addPart(p *part, surplus int64) error {
	size := p.size - surplus
	if size > 0 {
		records, err := p.head.records(io.NewSectionReader(p.file, p.from, size))
		if err == nil {
			err = r.add(size, records...)
		}
		if err != nil {
			return errors.Join(&PersistError{err}, p.file.Close())
		}
	}
	r.at("recorded")
	if err := p.remove(); err != nil {
		return &PersistError{err}
	}
	return nil
}
