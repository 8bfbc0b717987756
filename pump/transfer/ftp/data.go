package ftp

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"srpump/pump/transfer"
)

// transferOf runs a command that moves data, from an offset on, and returns the data connection. The caller ends it
// with finish, or with abandon.
func (s *session) transferOf(offset int64, format string, args ...any) (net.Conn, error) {
	open, err := s.openData()
	if err != nil {
		return nil, err
	}
	if offset > 0 {
		if _, err := s.expect(350, "REST %d", offset); err != nil {
			s.drop()
			return nil, partial(err)
		}
	}
	code, text, err := s.command(format, args...)
	if err == nil && code/100 != 1 {
		s.broken = true
		err = &replyError{code, printable(text)}
	}
	if err != nil {
		s.drop()
		return nil, err
	}
	conn, err := open()
	if err != nil {
		s.broken = true // the server waits for what does not come
		return nil, err
	}
	if s.dataTLS != nil {
		conn = tls.Client(conn, s.dataTLS)
	}
	return conn, nil
}

// partial says what a refused REST means.
func partial(err error) error {
	var reply *replyError
	if errors.As(err, &reply) && classOf(reply) == transfer.Unsupported {
		return class(transfer.Range, fmt.Errorf("the server sends no parts of files: %w", err))
	}
	return err
}

// openData agrees on a data connection; the function returned gives it, once the transfer has begun.
func (s *session) openData() (func() (net.Conn, error), error) {
	if s.at.login.Active {
		return s.listen()
	}
	port, err := s.passive()
	if err != nil {
		return nil, err
	}
	// Always the host of the control connection, whatever a 227 says: a server that names
	// another would have us connect where it cannot.
	host, _, err := net.SplitHostPort(s.conn.RemoteAddr().String())
	if err != nil {
		return nil, err
	}
	conn, err := s.f.dial(s.ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("no data connection: %w", err)
	}
	s.hold(conn)
	return func() (net.Conn, error) { return conn, nil }, nil
}

// passive asks where the server listens, RFC 2428 first.
func (s *session) passive() (port int, err error) {
	if !s.noEPSV {
		text, err := s.expect(229, "EPSV")
		if err == nil {
			return parseEPSV(text)
		}
		if s.broken {
			return 0, err
		}
		s.noEPSV = true
	}
	text, err := s.expect(227, "PASV")
	if err != nil {
		return 0, err
	}
	return parsePASV(text)
}

// parseEPSV reads "Entering Extended Passive Mode (|||6446|)", RFC 2428.
func parseEPSV(text string) (int, error) {
	_, rest, ok := strings.Cut(text, "(")
	if ok && len(rest) > 4 && rest[0] == rest[1] && rest[1] == rest[2] {
		if digits, _, ok := strings.Cut(rest[3:], rest[:1]); ok {
			return parsePort(digits, text)
		}
	}
	return 0, fmt.Errorf("the server's EPSV names no port: %.80q", text)
}

// parsePASV reads the port of "Entering Passive Mode (h1,h2,h3,h4,p1,p2)"; some servers leave out the brackets.
func parsePASV(text string) (int, error) {
	i := strings.IndexAny(text, "0123456789")
	if i >= 0 {
		end := strings.IndexFunc(text[i:], func(r rune) bool { return (r < '0' || r > '9') && r != ',' })
		if end < 0 {
			end = len(text) - i
		}
		if n := strings.Split(text[i:i+end], ","); len(n) == 6 {
			high, err1 := strconv.ParseUint(n[4], 10, 8)
			low, err2 := strconv.ParseUint(n[5], 10, 8)
			if err1 == nil && err2 == nil {
				return parsePort(strconv.FormatUint(high<<8|low, 10), text)
			}
		}
	}
	return 0, fmt.Errorf("the server's PASV names no port: %.80q", text)
}

func parsePort(digits, text string) (int, error) {
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("the server names no port: %.80q", text)
	}
	return int(n), nil
}

// listen waits for the server to connect, RFC 2428 and 959: the login says active.
func (s *session) listen() (func() (net.Conn, error), error) {
	here, ok := s.conn.LocalAddr().(*net.TCPAddr)
	if !ok {
		return nil, errors.New("no address of ours to connect to")
	}
	ln, err := net.ListenTCP("tcp", &net.TCPAddr{IP: here.IP, Zone: here.Zone})
	if err != nil {
		return nil, err
	}
	if err := s.tellPort(ln.Addr().(*net.TCPAddr)); err != nil {
		ln.Close()
		return nil, err
	}
	s.hold(ln)
	return func() (net.Conn, error) {
		defer ln.Close()
		return s.accept(ln)
	}, nil
}

func (s *session) tellPort(at *net.TCPAddr) error {
	family := 2
	v4 := at.IP.To4()
	if v4 != nil {
		family = 1
	}
	_, err := s.expect(200, "EPRT |%d|%s|%d|", family, at.IP, at.Port)
	if err == nil || s.broken || v4 == nil {
		return err
	}
	_, err = s.expect(200, "PORT %d,%d,%d,%d,%d,%d", v4[0], v4[1], v4[2], v4[3], at.Port>>8, at.Port&0xff)
	return err
}

// accept takes the connection of the server, and of nobody else.
func (s *session) accept(ln *net.TCPListener) (net.Conn, error) {
	if err := ln.SetDeadline(time.Now().Add(min(s.f.o.Timeout, time.Minute))); err != nil {
		return nil, err
	}
	for {
		conn, err := ln.Accept()
		if err != nil {
			return nil, fmt.Errorf("the server does not connect for data; passive mode may work: %w", err)
		}
		if conn.RemoteAddr().(*net.TCPAddr).IP.Equal(s.conn.RemoteAddr().(*net.TCPAddr).IP) {
			conn = transfer.Stalling(conn, s.f.o.Timeout)
			s.hold(conn)
			return conn, nil
		}
		conn.Close()
	}
}

// finish closes the data connection and reads how the transfer went.
func (s *session) finish() error {
	s.drop()
	return s.outcome()
}

func (s *session) outcome() error {
	code, text, err := s.reply()
	if err == nil && code/100 != 2 {
		s.broken = true
		err = &replyError{code, printable(text)}
	}
	return err
}

// abandonAfter is how long a server may take to see that a transfer was given up.
const abandonAfter = 2 * time.Second

// abandon gives a transfer up before its end and brings the control connection back in step: closed data connections make
// the server say so in one reply. When that does not come soon the connection is not used again.
func (s *session) abandon() {
	s.drop()
	if s.broken || s.ctx.Err() != nil {
		s.broken = true
		return
	}
	late := time.AfterFunc(abandonAfter, s.hangUp)
	_, _, err := s.reply()
	var reply *replyError
	if !late.Stop() || err != nil && !errors.As(err, &reply) {
		s.broken = true
	}
}
