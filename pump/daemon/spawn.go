package daemon

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// readyEnv tells a process which of its files is the pipe to whoever started it.
const readyEnv = "SRPUMP_READY_FD"

// wordsEnv tells a process which of its files holds the rest of its arguments.
const wordsEnv = "SRPUMP_WORDS_FD"

// What a process says on that pipe, each a line.
const (
	sayReady       = "ready"
	sayUnreachable = "unreachable " // with why
)

// A Spawn is a process to start.
type Spawn struct {
	Exe string   // the program
	Arg []string // its arguments, with the name it is called by
	// Words are further arguments, which no list of processes shows: they may hold passwords.
	Words []string
	Dir   string   // where it works
	Log   *os.File // its standard output and error
}

// A Birth is what came of a start.
type Birth struct {
	PID         int
	Status      int    // exit status, when it has ended already
	Ended       bool   // it did
	Said        string // on its way to an end
	Unreachable string // why it cannot reach its broker, if that is so
	Late        bool   // it has said nothing yet
}

// Start starts a process that outlives this one: of its own session, with nothing to read but
// its Words. It waits as long as patience until the process says that it works, or ends.
func (s Spawn) Start(patience time.Duration) (Birth, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return Birth{}, err
	}
	defer r.Close()
	words, tell, err := os.Pipe()
	if err != nil {
		w.Close()
		return Birth{}, err
	}
	defer tell.Close()
	cmd := &exec.Cmd{Path: s.Exe, Args: s.Arg, Dir: s.Dir, Stdout: s.Log, Stderr: s.Log, ExtraFiles: []*os.File{w, words},
		Env: append(os.Environ(), readyEnv+"=3", wordsEnv+"=4"), SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	err = cmd.Start()
	w.Close()
	words.Close()
	if err != nil {
		return Birth{}, fmt.Errorf("cannot start %q: %w", s.Exe, err)
	}
	b := Birth{PID: cmd.Process.Pid}
	if err := tellWords(tell, s.Words, patience); err != nil {
		return b, fmt.Errorf("cannot start %q: %w", s.Exe, err)
	}
	if err := r.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return b, err
	}
	text, err := readLine(r)
	switch {
	case text == sayReady:
		return b, nil
	case strings.HasPrefix(text, sayUnreachable):
		b.Unreachable = strings.TrimPrefix(text, sayUnreachable)
		return b, nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		b.Late = true
		return b, nil
	}
	_ = cmd.Wait() // its status is what counts
	b.Ended, b.Status, b.Said = true, cmd.ProcessState.ExitCode(), text
	return b, nil
}

// tellWords writes how many arguments there are, and each, ended by a zero byte. A process that ended
// before it read them has told why.
func tellWords(w *os.File, words []string, patience time.Duration) error {
	err := w.SetWriteDeadline(time.Now().Add(patience))
	if err == nil {
		_, err = io.WriteString(w, strings.Join(append([]string{strconv.Itoa(len(words))}, words...), "\x00")+"\x00")
	}
	if err = errors.Join(err, w.Close()); errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}

// errCut is a list of arguments that ends too early: whoever started this process was killed over it.
var errCut = errors.New("whoever started this process did not hand over all of them")

// TheWords returns the arguments this process was handed besides those of its command line (Spawn.Words), once.
// It fails when some are missing.
func TheWords() ([]string, error) {
	fd := os.Getenv(wordsEnv)
	os.Unsetenv(wordsEnv) // not for the children of this process
	if fd != "4" {
		return nil, nil
	}
	f := os.NewFile(4, "words")
	defer f.Close()
	all, err := io.ReadAll(f)
	words := strings.Split(string(all), "\x00")
	if err == nil && words[0] != strconv.Itoa(len(words)-2) {
		err = errCut
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the options of the command line: %w", err)
	}
	return words[1 : len(words)-1], nil
}

// readLimit bounds what is kept of what a process says on its way to an end: the last of it.
const readLimit = 64 << 10

// readLine reads the line of a process that works, or all that one says that does not. It goes on
// to the end, however much that is: a process nobody listens to would wait for ever.
func readLine(r io.Reader) (string, error) {
	var all []byte
	b := make([]byte, 4096)
	for {
		n, err := r.Read(b)
		all = append(all, b[:n]...)
		all = all[max(0, len(all)-readLimit):]
		text := string(all)
		if whole, ok := strings.CutSuffix(text, "\n"); ok {
			line := whole[strings.LastIndexByte(whole, '\n')+1:]
			if line == sayReady || strings.HasPrefix(line, sayUnreachable) {
				return line, nil
			}
		}
		if err != nil {
			return text, err
		}
	}
}

// A Parent is whoever started this process and waits to hear of it. The zero value is nobody.
type Parent struct {
	mu   sync.Mutex
	pipe *os.File // nil once it was told
}

// TheParent returns the parent named in the environment, once.
func TheParent() *Parent {
	fd := os.Getenv(readyEnv)
	if fd == "" {
		return &Parent{}
	}
	os.Unsetenv(readyEnv) // not for the children of this process
	if fd != "3" {
		return &Parent{}
	}
	syscall.CloseOnExec(3)
	return &Parent{pipe: os.NewFile(3, "ready")}
}

// Waits reports whether a parent waits to hear.
func (p *Parent) Waits() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pipe != nil
}

// Ready says that the process works.
func (p *Parent) Ready() { p.say(sayReady) }

// Unreachable says that the process works as soon as its broker does.
func (p *Parent) Unreachable(why error) {
	p.say(sayUnreachable + strings.ReplaceAll(why.Error(), "\n", "; "))
}

func (p *Parent) say(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pipe != nil {
		_, _ = io.WriteString(p.pipe, line+"\n") // who does not wait any more need not hear
		p.pipe.Close()
		p.pipe = nil
	}
}

// Write passes on what is said to a person, as long as the parent waits. It never fails, as what is said is
// for a log as well.
func (p *Parent) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pipe != nil {
		_, _ = p.pipe.Write(b)
	}
	return len(b), nil
}
