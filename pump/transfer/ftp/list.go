package ftp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path"
	"strings"
	"time"

	"srpump/pump/transfer"
)

// maxLine bounds one line of a listing: a name has 255 bytes, and a path to which a link points 4096.
const maxLine = 64 << 10

// List implements transfer.Lister, by MLSD (RFC 3659) where the server has it; else by LIST, which gives times to the
// minute at best and in the server's zone, taken for UTC. Lines that are no entry are left out.
func (f *FTP) List(ctx context.Context, url string, yield func(transfer.Entry) error) error {
	s, err := f.begin(ctx, "list", url)
	if err != nil {
		return err
	}
	defer s.end()
	var stop *stopped
	err = s.list(s.path, func(e transfer.Entry) error {
		if err := yield(e); err != nil {
			return &stopped{err}
		}
		return nil
	})
	switch {
	case errors.As(err, &stop):
		return stop.error
	case err != nil:
		return s.fail(err)
	}
	return nil
}

// stopped carries the error of a yield past our own.
type stopped struct{ error }

// list goes to the directory and lists where it is: so the name stands in no command that takes options or patterns.
func (s *session) list(dir string, yield func(transfer.Entry) error) error {
	if _, err := s.expect(250, "CWD %s", dir); err != nil {
		return err
	}
	if s.has("MLST") {
		conn, err := s.transferOf(0, "MLSD")
		if err == nil {
			return s.lines(conn, parseFacts, yield)
		}
		if s.broken || classify(err) != transfer.Unsupported {
			return err
		}
	}
	conn, err := s.transferOf(0, "LIST -a") // names with a dot in front too, where the server has the option
	if err != nil && !s.broken {
		conn, err = s.transferOf(0, "LIST")
	}
	if err != nil {
		return err
	}
	now := time.Now().UTC()
	return s.lines(conn, func(line string) (transfer.Entry, bool) { return parseLine(line, now) }, yield)
}

// lines reads a listing to its end.
func (s *session) lines(conn net.Conn, parse func(string) (transfer.Entry, bool), yield func(transfer.Entry) error) error {
	sc := bufio.NewScanner(conn)
	sc.Buffer(nil, maxLine)
	sc.Split(bufio.ScanLines)
	for sc.Scan() {
		e, ok := parse(sc.Text())
		if !ok || !isName(e.Name) {
			continue
		}
		if err := yield(e); err != nil {
			s.abandon()
			return err
		}
	}
	if err := sc.Err(); err != nil {
		s.broken = true
		return fmt.Errorf("the listing is cut off: %w", err)
	}
	return s.finish()
}

// isName reports whether a server may call a thing in a directory so: what leads elsewhere is none.
func isName(s string) bool {
	return s != "" && s != "." && s != ".." && !strings.ContainsAny(s, "/\x00\r\n")
}

// Stat implements transfer.Lister, by MLST where the server has it; else from the listing of the directory above,
// with the size and time of a file asked for by themselves, because listings round them.
func (f *FTP) Stat(ctx context.Context, url string) (e transfer.Entry, err error) {
	err = f.do(ctx, "stat", url, func(s *session) error {
		e, err = s.stat()
		return err
	})
	return e, err
}

func (s *session) stat() (transfer.Entry, error) {
	at := strings.TrimRight(s.path, "/")
	if at == "" || at == strings.TrimRight(s.home, "/") {
		return transfer.Entry{Name: "/", Mode: fs.ModeDir, Size: -1}, nil
	}
	if s.has("MLST") {
		e, err := s.facts(at)
		if err == nil || s.broken || classify(err) != transfer.Unsupported {
			return e, err
		}
	}
	return s.find(at)
}

// facts asks for one name, RFC 3659, 7.2.
func (s *session) facts(at string) (transfer.Entry, error) {
	text, err := s.expect(250, "MLST %s", at)
	if err != nil {
		return transfer.Entry{}, err
	}
	for line := range strings.Lines(text) {
		if e, ok := parseFacts(strings.TrimLeft(strings.TrimRight(line, "\r\n"), " ")); ok {
			e.Name = path.Base(at)
			return e, nil
		}
	}
	return transfer.Entry{}, errors.New("the server's MLST tells nothing")
}

// find looks for a name in the directory above it.
func (s *session) find(at string) (found transfer.Entry, err error) {
	dir, name := path.Split(at)
	seen := false
	err = s.list(dir, func(e transfer.Entry) error {
		if e.Name == name {
			found, seen = e, true
		}
		return nil
	})
	switch {
	case err != nil:
		return transfer.Entry{}, err
	case !seen:
		return transfer.Entry{}, class(transfer.NotFound, errors.New("there is no such file"))
	case !found.Mode.IsRegular():
		return found, nil
	}
	size, now, err := s.look(at)
	if size >= 0 && !now.IsZero() {
		found.Size, found.ModTime, found.Rough = size, now, false
	}
	return found, err
}
