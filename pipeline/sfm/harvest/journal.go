package harvest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
)

const journalSuffix = ".journal"

// A journal is beside an open WARC: a line for each delta, with the length of the WARC it speaks of.
// Of a WARC that is cut back only the lines up to its new length hold.
type journal struct {
	file *os.File
	all  delta
	at   int64 // of the last change
}

// A change is a line of a journal.
type change struct {
	At    int64 `json:"at"` // bytes of the WARC
	Delta delta `json:"delta"`
}

func openJournal(path string) (*journal, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o664)
	if err != nil {
		return nil, err
	}
	return &journal{file: f}, nil
}

func (j *journal) add(at int64, d delta) error {
	line, err := json.Marshal(change{at, d})
	if err != nil {
		return err
	}
	if _, err := j.file.Write(append(line, '\n')); err != nil {
		return err
	}
	j.all.add(d)
	j.at = at
	return nil
}

// close makes it durable. A line that was cut off by a full disk is not part of it.
func (j *journal) close() error { return errors.Join(j.file.Sync(), j.file.Close()) }

// Close gives it up.
func (j *journal) Close() error { return j.file.Close() }

// readJournal is what holds of a journal beside a WARC of that length, and the length the last change
// speaks of. Without a file there is nothing; a last line that was cut off does not count.
func readJournal(path string, length int64) (d delta, at int64, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return d, 0, nil
	}
	if err != nil {
		return d, 0, err
	}
	defer f.Close()
	in := bufio.NewReader(f)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return d, at, nil
		}
		if err != nil {
			return d, at, err
		}
		var c change
		if json.Unmarshal(bytes.TrimSpace(line), &c) != nil || c.At > length {
			return d, at, nil
		}
		d.add(c.Delta)
		at = c.At
	}
}
