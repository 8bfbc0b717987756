package poll

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxLine is the longest line of a listing that is understood, in bytes.
const maxLine = 8 << 10

// Lines reads a listing of one name a line: each as ls -l, DOS or MLSD prints it, found out
// line by line. An error is one of r or yield, or ErrTooMany; entries before it were
// yielded.
func Lines(r io.Reader, o Options, yield func(Entry) error) (Skipped, error) {
	rd := &reading{o: o, yield: yield}
	br := bufio.NewReaderSize(r, maxLine)
	for {
		line, err := br.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			rd.unknown(string(line[:maxLine/2]))
			err = restOfLine(br)
			line = nil
		}
		if err != nil && err != io.EOF {
			return rd.skipped, fmt.Errorf("cannot read listing: %w", err)
		}
		if giveErr := rd.line(strings.TrimRight(string(line), "\r\n")); giveErr != nil {
			return rd.skipped, giveErr
		}
		if err == io.EOF {
			return rd.skipped, nil
		}
	}
}

// restOfLine reads on to the end of a line too long to keep.
func restOfLine(br *bufio.Reader) error {
	for {
		if _, err := br.ReadSlice('\n'); !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

func (r *reading) line(s string) error {
	if strings.TrimSpace(s) == "" || strings.HasPrefix(s, "total ") {
		return nil
	}
	e, verdict := ParseLine(s, r.o)
	switch verdict {
	case Unknown:
		r.unknown(s)
		return nil
	case Other:
		return nil
	}
	if e.Name == "." || e.Name == ".." { // ls -a
		return nil
	}
	return r.give(e)
}

// A Verdict is what a line of a listing is.
type Verdict int

// What a line may be.
const (
	Unknown Verdict = iota // no line of a listing
	Listed                 // a file, directory or link
	Other                  // a device, a socket, the directory itself
)

// ParseLine reads one line of a listing without its line end. The name is as the server
// gave it and not yet known to be harmless.
func ParseLine(s string, o Options) (Entry, Verdict) {
	switch {
	case isMLSD(s):
		return parseMLSD(s)
	case s[0] >= '0' && s[0] <= '9':
		return parseDOS(s, o)
	}
	return parseUnix(s, o)
}

// A field is one word of a line and where it stands.
type field struct {
	text       string
	start, end int
}

// fields cuts a line at blanks, at most n words.
func fields(s string, n int) []field {
	out := make([]field, 0, n)
	for i := 0; i < len(s) && len(out) < n; {
		for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
			i++
		}
		start := i
		for i < len(s) && s[i] != ' ' && s[i] != '\t' {
			i++
		}
		if i > start {
			out = append(out, field{s[start:i], start, i})
		}
	}
	return out
}
