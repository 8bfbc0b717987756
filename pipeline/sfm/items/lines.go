package items

import (
	"bufio"
	"bytes"
	"io"
)

// lines cuts a body into lines.
type lines struct {
	in *bufio.Reader
}

func (l *lines) reset(in io.Reader) {
	if l.in == nil {
		l.in = bufio.NewReaderSize(in, 256<<10)
		return
	}
	l.in.Reset(in)
}

// next is the next line without blanks around it, in memory of its own, and, with the last one,
// what ended the body.
func (l *lines) next() ([]byte, error) {
	var line []byte
	for {
		part, err := l.in.ReadSlice('\n')
		if err != bufio.ErrBufferFull {
			line = append(line, part...)
			return bytes.TrimSpace(line), err
		}
		if line = append(line, part...); len(line) > maxDocument {
			return nil, errTooLarge
		}
	}
}
