package sftp

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"srpump/pump/transfer"
)

// The packets a listing needs (draft-ietf-secsh-filexfer-02, 3).
const (
	packetInit    = 1
	packetVersion = 2
	packetClose   = 4
	packetOpenDir = 11
	packetReadDir = 12
	packetStatus  = 101
	packetHandle  = 102
	packetName    = 104

	// mostPacket is more than OpenSSH sends at once.
	mostPacket = 1 << 20
)

var (
	errOver    = errors.New("no more names")
	errGarbled = errors.New("the server sends what is no answer to a listing")
)

// A lister reads directories in the pieces a server gives them in, of some hundred names, over a session of its own.
// The library gives a directory as a whole only, and a server may make it as long as it likes.
type lister struct {
	session *ssh.Session
	to      io.Writer
	from    *bufio.Reader
	last    uint32 // request
}

// newLister starts one; bytes that move are noted by the wire of the connection.
func (c *connection) newLister() (*lister, error) {
	session, err := c.ssh.NewSession()
	if err != nil {
		return nil, err
	}
	in, _ := session.StdinPipe()
	out, _ := session.StdoutPipe() // each fails when asked for twice only
	s := &lister{session: session, to: in, from: bufio.NewReaderSize(noting{out, c.wire}, 64<<10)}
	if err = session.RequestSubsystem("sftp"); err == nil {
		err = s.greet()
	}
	if err != nil {
		session.Close()
		return nil, err
	}
	return s, nil
}

// noting tells a wire of bytes that move beside it.
type noting struct {
	io.Reader
	wire *wire
}

func (n noting) Read(p []byte) (int, error) {
	got, err := n.Reader.Read(p)
	n.wire.note()
	return got, err
}

// greet agrees on version 3.
func (s *lister) greet() error {
	if err := s.send(packetInit, binary.BigEndian.AppendUint32(nil, 3)); err != nil {
		return err
	}
	kind, _, err := s.receive()
	if err == nil && kind != packetVersion {
		err = errGarbled
	}
	return err
}

func (s *lister) send(kind byte, body []byte) error {
	packet := binary.BigEndian.AppendUint32(nil, uint32(len(body)+1))
	_, err := s.to.Write(append(append(packet, kind), body...))
	return err
}

func (s *lister) receive() (kind byte, rest fields, err error) {
	var head [5]byte
	if _, err := io.ReadFull(s.from, head[:]); err != nil {
		return 0, nil, fmt.Errorf("the listing is cut off: %w", noEOF(err))
	}
	n := binary.BigEndian.Uint32(head[:])
	if n == 0 || n > mostPacket {
		return 0, nil, errGarbled
	}
	rest = make(fields, n-1)
	_, err = io.ReadFull(s.from, rest)
	return head[4], rest, noEOF(err)
}

func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// ask sends a request about a path or handle and gives the answer of the kind wanted; a status is an error, or nil.
func (s *lister) ask(request byte, about string, want byte) (fields, error) {
	s.last++
	body := binary.BigEndian.AppendUint32(nil, s.last)
	body = append(binary.BigEndian.AppendUint32(body, uint32(len(about))), about...)
	if err := s.send(request, body); err != nil {
		return nil, err
	}
	kind, rest, err := s.receive()
	if err != nil {
		return nil, err
	}
	id, ok := rest.number()
	switch {
	case !ok || id != s.last:
		return nil, errGarbled
	case kind == packetStatus:
		return nil, statusOf(&rest)
	case kind != want:
		return nil, errGarbled
	}
	return rest, nil
}

// statusOf is the error a status stands for, as the library has it.
func statusOf(rest *fields) error {
	code, ok := rest.number()
	switch {
	case !ok:
		return errGarbled
	case code == 0:
		return nil
	case code == 1:
		return errOver
	case code == 2:
		return fs.ErrNotExist
	case code == 3:
		return fs.ErrPermission
	}
	return &sftp.StatusError{Code: code}
}

// open begins a directory.
func (s *lister) open(dir string) (handle string, err error) {
	rest, err := s.ask(packetOpenDir, dir, packetHandle)
	if err != nil {
		return "", err
	}
	handle, ok := rest.text()
	if !ok {
		return "", errGarbled
	}
	return handle, nil
}

// next gives a piece of it; after the last errOver.
func (s *lister) next(handle string) ([]transfer.Entry, error) {
	rest, err := s.ask(packetReadDir, handle, packetName)
	if err != nil {
		return nil, err
	}
	count, ok := rest.number()
	var out []transfer.Entry
	for range count {
		var e transfer.Entry
		if e, ok = rest.entry(); !ok {
			break
		}
		out = append(out, e)
	}
	if !ok {
		return nil, errGarbled
	}
	return out, nil
}

// end ends it, so that the lister may begin another.
func (s *lister) end(handle string) error {
	_, err := s.ask(packetClose, handle, packetStatus)
	return err
}

// fields are what is left of a packet.
type fields []byte

func (f *fields) number() (uint32, bool) {
	if len(*f) < 4 {
		return 0, false
	}
	n := binary.BigEndian.Uint32(*f)
	*f = (*f)[4:]
	return n, true
}

func (f *fields) text() (string, bool) {
	n, ok := f.number()
	if !ok || uint64(n) > uint64(len(*f)) {
		return "", false
	}
	s := string((*f)[:n])
	*f = (*f)[n:]
	return s, true
}

// entry reads a name, the line of a listing for people and attributes.
func (f *fields) entry() (e transfer.Entry, ok bool) {
	if e.Name, ok = f.text(); !ok {
		return e, false
	}
	if _, ok = f.text(); !ok {
		return e, false
	}
	st, ok := f.attributes()
	e.Size, e.Mode = int64(st.Size), st.FileMode()
	if st.Mtime != 0 {
		e.ModTime = st.ModTime()
	}
	return e, ok
}

// attributes reads those there are (draft-ietf-secsh-filexfer-02, 5).
func (f *fields) attributes() (st sftp.FileStat, ok bool) {
	const size, owner, mode, times, extended = 1, 2, 4, 8, 1 << 31
	flags, ok := f.number()
	var high, low uint32
	read := func(flag uint32, into ...*uint32) {
		for _, n := range into {
			if ok && flags&flag != 0 {
				*n, ok = f.number()
			}
		}
	}
	read(size, &high, &low)
	read(owner, &st.UID, &st.GID)
	read(mode, &st.Mode)
	read(times, &st.Atime, &st.Mtime)
	st.Size = uint64(high)<<32 | uint64(low)
	var more uint32
	read(extended, &more)
	for range more {
		for range 2 {
			if ok {
				_, ok = f.text()
			}
		}
		if !ok {
			break
		}
	}
	return st, ok
}
