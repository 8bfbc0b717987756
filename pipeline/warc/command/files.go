package command

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"srpump/pipeline/warc"
)

// stdin is the name of standard input among files.
const stdin = "-"

// open opens a file to be read; the input when it is called -. Close it with the function.
func (r *run) open(name string) (io.Reader, func() error, error) {
	if name == stdin {
		return r.in, func() error { return nil }, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read %q: %w", name, cause(err))
	}
	return f, f.Close, nil
}

// cause is what is wrong, without the name that is told anyway.
func cause(err error) error {
	if p, ok := err.(*os.PathError); ok {
		return p.Err
	}
	return err
}

// each does something with every record of a file, and returns how many there were.
func (r *run) each(in io.Reader, name string, o warc.ReadOptions, do func(*warc.Record) error) (records int, err error) {
	reader := warc.NewReader(in, o)
	for r.Err() == nil {
		rec, err := reader.Next()
		if err == io.EOF {
			return records, nil
		}
		if err != nil {
			return records, fmt.Errorf("cannot read %q: %w", name, cause(err))
		}
		records++
		if err := do(rec); err != nil {
			return records, err
		}
	}
	return records, r.Err()
}

// complain tells of damage while something else is printed, and counts it.
func (r *run) complain(name string, damaged *int) func(*warc.Fault) {
	return func(f *warc.Fault) {
		if f.Damage() {
			*damaged++
			r.warn(fmt.Errorf("%s:%d: %s", name, f.Offset, f.String()))
		}
	}
}

// failed is the error of a command that did what it could; nil when that was everything.
func failed(damaged int) error {
	if damaged == 0 {
		return nil
	}
	return hinted{fmt.Errorf("%s damaged", count(damaged, "record is", "records are")), "warc check says more; the sound records can still be read"}
}

// A hinted error says what to do.
type hinted struct {
	error
	hint string
}

// Hint is what to do.
func (h hinted) Hint() string { return h.hint }

// count is "1 record" or "3 records".
func count[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// printable keeps what came out of a file from steering a terminal or forging a line.
func printable(s string) string {
	if s == "" {
		return "-"
	}
	return strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return '?'
		}
		return c
	}, s)
}
