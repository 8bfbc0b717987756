package ftp

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"srpump/pump/transfer"
)

// maxReply bounds what a server may say at once; RFC 959 replies are a line or a few.
const maxReply = 64 << 10

// A control is one control connection. One goroutine uses it at a time.
type control struct {
	conn     net.Conn // the TCP connection; closing it ends everything
	out      io.Writer
	in       *bufio.Reader
	limit    *io.LimitedReader // beneath in, set anew for each reply
	dataTLS  *tls.Config       // of data connections; nil: they are clear
	tls      *tls.Config       // of this connection, nil when it is clear
	features map[string]string
	home     string // login directory, absolute
	ascii    bool
	noEPSV   bool // the server knows no EPSV
	broken   bool // out of step or dead: not to be used again
	since    time.Time
}

func newControl(conn net.Conn) *control {
	c := &control{conn: conn}
	c.speak(conn)
	return c
}

// speak exchanges commands and replies over rw from now on. What came before is forgotten, as TLS demands.
func (c *control) speak(rw io.ReadWriter) {
	c.out = rw
	c.limit = &io.LimitedReader{R: rw, N: maxReply}
	c.in = bufio.NewReader(c.limit)
}

// A replyError is a reply that is not what was wanted.
type replyError struct {
	code int
	text string
}

func (e *replyError) Error() string { return fmt.Sprintf("the server says %d %s", e.code, e.text) }

// command sends a line and reads the reply, whatever its code. The line holds no line end: paths,
// users and passwords were looked at when they were taken from the URL.
func (c *control) command(format string, args ...any) (code int, text string, err error) {
	line := fmt.Sprintf(format, args...)
	if strings.ContainsAny(line, "\r\n\x00") {
		return 0, "", fmt.Errorf("a command of FTP holds no line end")
	}
	if _, err := io.WriteString(c.out, line+"\r\n"); err != nil {
		c.broken = true
		return 0, "", err
	}
	return c.reply()
}

// reply reads one. Of a code of class 4 or 5 it makes a *replyError; 421 ends the connection.
func (c *control) reply() (code int, text string, err error) {
	c.limit.N = maxReply
	code, text, err = c.readReply()
	if err != nil {
		c.broken = true
		return 0, "", fmt.Errorf("no reply from the server: %w", noEOF(err))
	}
	if code == codeClosing {
		c.broken = true
	}
	if code >= 400 {
		return code, text, &replyError{code, printable(text)}
	}
	return code, text, nil
}

// readReply reads "200 text", or lines from "200-text" to "200 text", RFC 959, 4.2.
func (c *control) readReply() (code int, text string, err error) {
	var all strings.Builder
	for {
		line, err := c.in.ReadString('\n')
		if err != nil && c.limit.N <= 0 {
			err = fmt.Errorf("it is longer than %d bytes", maxReply)
		}
		if err != nil {
			return 0, "", err
		}
		line = strings.TrimRight(line, "\r\n")
		number, last := parseCode(line)
		if code == 0 {
			if number == 0 {
				return 0, "", fmt.Errorf("it is not of FTP: %.40q", line)
			}
			code = number
		}
		if number == code {
			line = line[min(len(line), len("200 ")):]
		}
		all.WriteString(line)
		if number == code && last {
			return code, all.String(), nil
		}
		all.WriteByte('\n')
	}
}

// parseCode reads the code a line begins with, 0 when it has none; last tells "200 " from "200-".
func parseCode(line string) (code int, last bool) {
	if len(line) < 3 || line[0] < '1' || line[0] > '5' || len(line) > 3 && line[3] != ' ' && line[3] != '-' {
		return 0, false
	}
	n, err := strconv.ParseUint(line[:3], 10, 16)
	if err != nil {
		return 0, false
	}
	return int(n), len(line) == 3 || line[3] == ' '
}

// expect is command for what must answer one code of class 2 or 3, such as 350.
func (c *control) expect(want int, format string, args ...any) (text string, err error) {
	code, text, err := c.command(format, args...)
	if err == nil && code/100 != want/100 {
		c.broken = true
		err = &replyError{code, printable(text)}
	}
	return text, err
}

func (c *control) has(feature string) bool {
	_, ok := c.features[feature]
	return ok
}

// fetchFeatures asks what the server can, RFC 2389. One that does not know the question can nothing.
func (c *control) fetchFeatures() error {
	_, text, err := c.command("FEAT")
	if err != nil && c.broken {
		return err
	}
	c.features = make(map[string]string)
	sc := bufio.NewScanner(strings.NewReader(text))
	for sc.Scan() {
		if line, ok := strings.CutPrefix(sc.Text(), " "); ok && err == nil {
			name, about, _ := strings.Cut(line, " ")
			c.features[strings.ToUpper(name)] = about
		}
	}
	return nil
}

// hangUp ends the connection at once; whoever reads or writes it fails. Any goroutine may call it.
func (c *control) hangUp() { c.conn.Close() }

// noEOF makes an end that is too early look like one.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// printable cuts a server's text to what a log line bears.
func printable(s string) string {
	const most = 200
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strings.TrimSpace(strings.ToValidUTF8(s, "?"))
}

const (
	codeClosing     = 421 // service not available, closing control connection
	codeNotLoggedIn = 530
)

// classOf sorts replies. 550 stands for most things a server refuses, so its text is looked at too.
func classOf(e *replyError) transfer.Class {
	switch {
	case e.code == 500 || e.code == 501 || e.code == 502 || e.code == 504:
		return transfer.Unsupported
	case e.code == codeNotLoggedIn || e.code == 532 || e.code == 553 || e.code/10 == 53:
		return transfer.Forbidden
	case e.code == 550 && denied(e.text):
		return transfer.Forbidden
	case e.code == 550:
		return transfer.NotFound
	}
	return transfer.Temporary
}

func denied(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "denied") || strings.Contains(text, "not allowed") || strings.Contains(text, "permission")
}
