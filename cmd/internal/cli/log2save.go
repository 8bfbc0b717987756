package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"srpump/pump/config"
	"srpump/pump/retry"
)

// saveCommand makes what the option restore reads out of a log; it has no component.
const saveCommand = "sr_log2save"

// Log2SaveUsage is the synopsis of sr_log2save(1).
func Log2SaveUsage() string { return saveCommand + " [option ...]" }

const log2saveHelp = `sr_log2save - make announcements of a log, for restore

usage: sr_log2save < log > file

It reads the log on standard input and writes a line for each announcement it tells of.
`

// logLine bounds a line of a log, in bytes.
const logLine = 1 << 20

// RunLog2Save runs sr_log2save(1), and returns its exit status.
func RunLog2Save(ctx context.Context, proc Process) int {
	s := say{saveCommand, proc.Stderr}
	words, rest, err := config.NormalizeArgs(proc.Args)
	switch {
	case err == nil && given(words, "help"):
		fmt.Fprint(proc.Stdout, log2saveHelp)
		return ExitOK
	case err == nil && given(words, "version"):
		fmt.Fprintf(proc.Stdout, "%s %s\n", saveCommand, Version)
		return ExitOK
	case err == nil && len(words)+len(rest) > 0:
		err = errors.New("it takes no arguments")
	}
	if err != nil {
		s.errorf("%v", err)
		s.hint("usage: " + saveCommand + " < log > file")
		return ExitUsage
	}
	ended := make(chan int, 1)
	go func() { ended <- s.log2save(proc.Stdin, proc.Stdout) }()
	select {
	case code := <-ended:
		return code
	case <-ctx.Done(): // a read that blocks cannot be woken
		return ExitFailed
	}
}

// log2save converts a log and returns the exit status.
func (s say) log2save(in io.Reader, to io.Writer) int {
	out := bufio.NewWriter(to)
	damaged, err := s.convert(in, out)
	if err = errors.Join(err, out.Flush()); err != nil {
		s.errorf("cannot convert the log: %v", err)
	}
	if damaged || err != nil {
		return ExitFailed
	}
	return ExitOK
}

// convert goes line by line. Damaged ones are told of and passed over.
func (s say) convert(in io.Reader, out io.Writer) (damaged bool, err error) {
	sc := bufio.NewScanner(in)
	sc.Buffer(make([]byte, 64<<10), logLine)
	for n := 1; sc.Scan(); n++ {
		m, told, err := retry.FromLog(sc.Text())
		if !told {
			continue
		}
		var line []byte
		if err == nil {
			line, err = retry.EncodeMessage(m)
		}
		if err != nil {
			s.warningf("line %d is damaged: %v", n, err)
			damaged = true
			continue
		}
		if _, err := out.Write(line); err != nil {
			return damaged, err
		}
	}
	return damaged, sc.Err()
}
