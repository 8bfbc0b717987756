package blocks

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/cespare/xxhash/v2"

	"srpump/post"
	"srpump/pump/retry"
)

// A line of a journal is sixteen hexadecimal digits, the xxhash64 of what follows, a blank, an entry in
// JSON and a line feed. The first one says what file it is of.
const sumDigits = 16

// maxLine bounds a line in bytes; longer ones are not ours.
const maxLine = 64 << 20

// An entry is what a line says: one of these.
type entry struct {
	File   *File      `json:"file,omitempty"`
	Block  *block     `json:"block,omitempty"`
	Drop   *int64     `json:"drop,omitempty"`
	Posted *time.Time `json:"posted,omitempty"`
}

// A block is a Record on the disk; its announcements are as in save files.
type block struct {
	Number int64  `json:"number"`
	Sum    string `json:"sum"`
	Kept   bool   `json:"kept,omitempty"`
	Silent bool   `json:"silent,omitempty"`
	Came   string `json:"came"`
	Made   string `json:"made,omitempty"`
}

func (b *block) record() (Record, error) {
	r := Record{Number: b.Number, Kept: b.Kept, Silent: b.Silent}
	var err, err2, err3 error
	r.Sum, err = post.ParseSum(b.Sum)
	r.Came, err2 = decodeSaved(b.Came)
	if r.Made = r.Came; b.Made != "" {
		r.Made, err3 = decodeSaved(b.Made)
	}
	return r, errors.Join(err, err2, err3)
}

func encodeRecord(r Record) ([]byte, error) {
	b := block{Number: r.Number, Sum: r.Sum.String(), Kept: r.Kept, Silent: r.Silent}
	came, err := retry.EncodeSaved(r.Came)
	if err != nil {
		return nil, err
	}
	b.Came = string(came)
	if r.Made != r.Came {
		made, err := retry.EncodeSaved(r.Made)
		if err != nil {
			return nil, err
		}
		b.Made = string(made)
	}
	return encode(entry{Block: &b})
}

func encode(e entry) ([]byte, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "%016x %s\n", xxhash.Sum64(text), text), nil
}

var errLine = errors.New("damaged line")

func decode(line []byte) (e entry, err error) {
	digits, text, ok := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
	sum, err := strconv.ParseUint(string(digits), 16, 64)
	if !ok || err != nil || len(digits) != sumDigits || line[len(line)-1] != '\n' || sum != xxhash.Sum64(text) {
		return e, errLine
	}
	return e, json.Unmarshal(text, &e)
}

// read gives the entries of a journal with their offsets, up to the first line that is damaged: what
// stands behind was never promised to anybody. It returns where the good ones end.
func read(from io.Reader, do func(int64, entry) error) (end int64, err error) {
	r := bufio.NewReaderSize(from, 64<<10)
	for {
		line, err := readLine(r)
		if errors.Is(err, io.EOF) || errors.Is(err, errLine) {
			return end, nil
		}
		if err != nil {
			return end, err
		}
		e, err := decode(line)
		if err != nil {
			return end, nil
		}
		if err := do(end, e); err != nil {
			return end, err
		}
		end += int64(len(line))
	}
}

func readLine(r *bufio.Reader) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
		if len(line) > maxLine {
			return nil, errLine
		}
	}
}

// readAt reads one entry.
func readAt(f io.ReaderAt, offset int64) (entry, error) {
	line, err := readLine(bufio.NewReader(io.NewSectionReader(f, offset, maxLine)))
	if err != nil {
		return entry{}, err
	}
	return decode(line)
}
