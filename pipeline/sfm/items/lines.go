package items

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

const lineBuffer = 512 << 10 // bytes; most answers fit

// lines cuts a body into lines.
type lines struct {
	in     *bufio.Reader
	most   int  // bytes of a line
	borrow bool // lines are good until the next one is asked for
}

func (l *lines) reset(in io.Reader) {
	if l.in == nil {
		l.in = bufio.NewReaderSize(in, lineBuffer)
		return
	}
	l.in.Reset(in)
}

// next is the next line without blanks around it, in memory of its own unless it is borrowed, and,
// with the last one, what ended the body.
func (l *lines) next() ([]byte, error) {
	var line []byte
	for {
		part, err := l.in.ReadSlice('\n')
		if err != bufio.ErrBufferFull && line == nil && l.borrow {
			return bytes.TrimSpace(part), err
		}
		if err != bufio.ErrBufferFull {
			line = append(line, part...)
			return bytes.TrimSpace(line), err
		}
		if line = append(line, part...); len(line) > l.most {
			return nil, fmt.Errorf("it is longer than %d bytes", l.most)
		}
	}
}
