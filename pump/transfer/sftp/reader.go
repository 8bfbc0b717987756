package sftp

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/pkg/sftp"

	"srpump/pump/transfer"
)

const (
	// smallPacket is what every server takes at once (draft-ietf-secsh-filexfer-02, 3), largePacket what
	// OpenSSH does, less what goes round it.
	smallPacket = 32 << 10
	largePacket = 255 << 10
	// inFlight is how many bytes are asked for ahead: a little more than the 2 MiB the SSH library
	// lets a server send before it has read them.
	inFlight    = 10 * largePacket
	firstWindow = 4
)

// packets are buffers for one answer each.
var packets = sync.Pool{New: func() any { return new([largePacket]byte) }}

// packet is the size to ask for at once. Others than OpenSSH may close the connection, or give less
// without a word, when asked for more than every server must take.
func (l *link) packet() int {
	if _, ok := l.files.HasExtension("limits@openssh.com"); ok || strings.HasPrefix(string(l.ssh.ServerVersion()), "SSH-2.0-OpenSSH") {
		return largePacket
	}
	return smallPacket
}

// reader gives a range of a file in order, asking ahead for as much as fills the connection. The
// library's own WriteTo does the same but for ranges: it reads to the end, and cannot be left.
type reader struct {
	ctx    context.Context
	pool   *pool
	link   *link
	file   *sftp.File
	url    string
	packet int

	next, end int64     // the range not yet asked for
	window    int       // answers asked for ahead at most
	asked     []*answer // in order
	now       *answer   // being given, from its byte used on
	used      int
	failed    error
	closed    bool
}

// answer is one packet to come.
type answer struct {
	buf  []byte
	from *[largePacket]byte // where buf is a part of a pooled one
	n    int
	err  error
	done chan struct{}
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	for r.failed == nil && (r.now == nil || r.used == r.now.n) {
		r.failed = r.advance()
	}
	if r.failed != nil {
		return 0, r.failed
	}
	n := copy(p, r.now.buf[r.used:r.now.n])
	r.used += n
	return n, nil
}

// advance waits for the next answer, and asks for more.
func (r *reader) advance() error {
	if r.now != nil && r.now.from != nil {
		packets.Put(r.now.from)
	}
	r.now, r.used = nil, 0
	r.ask()
	if len(r.asked) == 0 {
		return io.EOF
	}
	a := r.asked[0]
	select {
	case <-a.done:
	case <-r.ctx.Done():
		return fail("get", r.url, r.ctx.Err())
	case <-r.link.ctx.Done():
		return fail("get", r.url, context.Cause(r.link.ctx))
	}
	r.asked = r.asked[1:]
	if r.window < inFlight/r.packet {
		r.window++
	}
	if a.n < len(a.buf) {
		return r.short(a)
	}
	r.now = a
	return r.ctxErr()
}

func (r *reader) ctxErr() error { return fail("get", r.url, r.ctx.Err()) }

// short explains an answer that is not whole.
func (r *reader) short(a *answer) error {
	if a.err == nil || a.err == io.EOF {
		missing := r.end - r.next + int64(len(a.buf)-a.n)
		for _, later := range r.asked {
			missing += int64(len(later.buf))
		}
		return transfer.Fail("get", r.url, transfer.Temporary, fmt.Errorf("%d bytes short: %w", missing, io.ErrUnexpectedEOF))
	}
	return fail("get", r.url, r.link.because(a.err))
}

// ask fills the window.
func (r *reader) ask() {
	for len(r.asked) < r.window && r.next < r.end {
		a := newAnswer(int(min(int64(r.packet), r.end-r.next)))
		r.asked = append(r.asked, a)
		r.link.owed.Add(1)
		go a.fetch(r.link, r.file, r.next)
		r.next += int64(len(a.buf))
	}
}

func newAnswer(n int) *answer {
	a := &answer{done: make(chan struct{})}
	if n <= smallPacket {
		a.buf = make([]byte, n)
		return a
	}
	a.from = packets.Get().(*[largePacket]byte)
	a.buf = a.from[:n]
	return a
}

func (a *answer) fetch(l *link, file *sftp.File, off int64) {
	a.n, a.err = file.ReadAt(a.buf, off)
	l.owed.Add(-1)
	close(a.done)
}

// Close gives the transfer up where it is not over; answers still to come are dropped.
func (r *reader) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	if r.failed == nil {
		r.failed = transfer.Fail("get", r.url, transfer.Temporary, errClosed)
	}
	r.link.leave(r.file)
	r.pool.give(r.link)
	return nil
}
