package hook

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// MaxLine is the longest line a child may answer, in bytes.
const MaxLine = 1 << 20

// A Program is what is to be run: never a line for a shell.
type Program struct {
	Args []string
	Env  []string // of its own, NAME=value, besides those of this process
	Dir  string
	Name string // in logs: the option it stands in
	Log  *slog.Logger
}

// command is the program in a process group of its own, so that all it starts ends with it. The kernel
// ends it with us, kill -9 or not, whether it looks at the end of its input or not. To the kernel that
// is the end of the thread that started it: whoever does holds on to his (runtime.LockOSThread) until
// the program has ended.
func (p Program) command() *exec.Cmd {
	cmd := exec.Command(p.Args[0], p.Args[1:]...)
	cmd.Env, cmd.Dir = append(os.Environ(), p.Env...), p.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return cmd
}

// A Child is a running program that is fed lines and answers in lines. What it prints on standard
// error is logged.
type Child struct {
	cmd  *exec.Cmd
	in   *os.File
	over chan struct{}

	mu     sync.Mutex
	wake   *sync.Cond
	queue  []byte // lines not yet written
	ending bool   // no more lines
	ended  bool   // by itself or not
	killed error  // why it was killed, when it was
}

// errLine is a line longer than MaxLine.
var errLine = fmt.Errorf("a line longer than %d bytes", MaxLine)

// Start runs a program. Each line of its standard output is given to answer, without its end and
// valid during the call only; an error of answer ends the program. over is called once, when the
// program has ended and answer will not be called again, with why it was killed or how it ended.
func Start(p Program, answer func([]byte) error, over func(error)) (*Child, error) {
	c := &Child{cmd: p.command(), over: make(chan struct{})}
	c.wake = sync.NewCond(&c.mu)
	in, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("cannot start %q: %w", p.Args[0], err)
	}
	read, out, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot start %q: %w", p.Args[0], err), in.Close(), write.Close())
	}
	said := newSayings(p)
	c.in, c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = write, in, out, said
	c.cmd.WaitDelay = closeTime
	started := make(chan error)
	go c.run(started, &remains{File: read, c: c, left: MaxLine}, said, answer, over)
	err = <-started
	in.Close()
	out.Close()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot start %q: %w", p.Args[0], plain(err)), write.Close(), read.Close())
	}
	go c.write()
	return c, nil
}

// plain takes the command off an error that repeats it.
func plain(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	var e *exec.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// run starts the program, reads all answers, waits for it and tells the end.
func (c *Child) run(started chan<- error, out *remains, said *sayings, answer func([]byte) error, over func(error)) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := c.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		if err := readLines(out, answer); err != nil {
			c.Kill(err)
		}
	}()
	c.ends()
	out.last()
	err = c.cmd.Wait()
	<-read
	out.Close()
	c.in.Close()
	said.close()
	c.mu.Lock()
	if c.killed != nil {
		err = c.killed
	}
	c.mu.Unlock()
	close(c.over)
	over(err)
}

// ends waits for the end of the program, and ends with it what it left behind, which may hold the pipe
// open and answer in its name. Until it is reaped, its number is nobody else's.
func (c *Child) ends() {
	for unix.Waitid(unix.P_PID, c.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL)
	c.ending, c.ended = true, true
	c.wake.Signal()
}

// remains are what a program prints. Once it has ended that is what is in the pipe, and no more: who has left
// its process group may hold the pipe open, but not speak for it.
type remains struct {
	*os.File
	c    *Child
	left int // bytes a pipe may still hold at the end
}

// remainTime bounds a read of what is there already; it is long for a busy host.
const remainTime = time.Second

func (r *remains) last() { _ = r.SetReadDeadline(time.Now().Add(remainTime)) }

// Read implements io.Reader.
func (r *remains) Read(b []byte) (int, error) {
	r.c.mu.Lock()
	ended := r.c.ended
	r.c.mu.Unlock()
	if !ended {
		return r.File.Read(b)
	}
	if r.left <= 0 {
		return 0, io.EOF
	}
	r.last()
	n, err := r.File.Read(b[:min(len(b), r.left)])
	r.left -= n
	return n, err
}

func readLines(r io.Reader, answer func([]byte) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), MaxLine)
	for lines.Scan() {
		if err := answer(lines.Bytes()); err != nil {
			return err
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return errLine
	}
	return nil // the pipe has ended, and the program says why
}

// Send queues a line, which must end in a line feed; it does not wait. What a child does not read is
// kept in memory: it is for the caller to bound it.
func (c *Child) Send(line []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ending {
		c.queue = append(c.queue, line...)
		c.wake.Signal()
	}
}

// write feeds the program what is queued, many lines at once.
func (c *Child) write() {
	var batch []byte
	for {
		c.mu.Lock()
		for len(c.queue) == 0 && !c.ending {
			c.wake.Wait()
		}
		batch, c.queue = c.queue, batch[:0]
		c.mu.Unlock()
		if len(batch) == 0 {
			c.in.Close()
			return
		}
		if _, err := c.in.Write(batch); err != nil { // it has closed its input, and answers or ends
			c.finish()
		}
	}
}

// finish lets the program see the end of its input, after what is queued.
func (c *Child) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ending = true
	c.wake.Signal()
}

// Kill ends the program and all it started, at once. The first reason given is told.
func (c *Child) Kill(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.killed == nil {
		c.killed = why
	}
	c.ending = true
	c.queue = nil
	c.wake.Signal()
	if !c.ended {
		_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL)
	}
}

// closeTime is how long a program may take to end after its input did.
const closeTime = 2 * time.Second

// Close ends the input and waits; who does not end by himself soon is killed.
func (c *Child) Close() {
	c.finish()
	select {
	case <-c.over:
	case <-time.After(closeTime):
		c.Kill(ErrClosed)
		<-c.over
	}
}
