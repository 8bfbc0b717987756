package sftp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

// maxHops is how many hosts a connection may jump over: configurations can name each other.
const maxHops = 8

// dialer makes one connection.
type dialer struct {
	o    *Options
	hops []io.Closer
}

// connect logs in and starts SFTP.
func (d *dialer) connect(ctx context.Context, a address) (*connection, error) {
	client, err := d.login(ctx, a, nil)
	if err == nil {
		var c *connection
		if c, err = session(ctx, client); err == nil {
			c.hops = d.hops
			return c, nil
		}
		client.Close()
	}
	for _, hop := range d.hops {
		hop.Close()
	}
	if ctx.Err() != nil {
		err = d.late(ctx, err)
	}
	return nil, err
}

// late is the error of a connection given up: what the library says of one that was closed meanwhile
// is left out.
func (d *dialer) late(ctx context.Context, err error) error {
	within := min(d.o.Timeout, longestLogin)
	switch {
	case !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return err
	case errors.Is(err, net.ErrClosed), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("no reply from the server within %v", within)
	}
	return fmt.Errorf("no connection within %v: %w", within, err)
}

// login opens an SSH connection, through the hosts in jumps or else those its configuration names.
func (d *dialer) login(ctx context.Context, a address, jumps []string) (*ssh.Client, error) {
	h, err := d.o.completeHost(a)
	if err != nil {
		return nil, &setupError{fmt.Errorf("host %q: %w", a.host, err)}
	}
	if jumps == nil {
		jumps = h.jumps
	}
	conn, err := d.reach(ctx, net.JoinHostPort(h.name, h.port), jumps)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	client, err := d.o.handshake(conn, h)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return client, nil
}

// reach connects to a place, over the last of the jumps, which is reached over those before it.
func (d *dialer) reach(ctx context.Context, place string, jumps []string) (net.Conn, error) {
	if len(jumps) == 0 {
		nd := &net.Dialer{KeepAlive: 30 * time.Second}
		return nd.DialContext(ctx, "tcp", place)
	}
	last := len(jumps) - 1
	hop, err := d.jump(ctx, strings.TrimSpace(jumps[last]), slices.Clip(jumps[:last]))
	if err != nil {
		return nil, fmt.Errorf("cannot jump over %q: %w", jumps[last], err)
	}
	return hop.DialContext(ctx, "tcp", place)
}

func (d *dialer) jump(ctx context.Context, over string, before []string) (*ssh.Client, error) {
	if len(d.hops) >= maxHops || len(before) >= maxHops {
		return nil, &setupError{errors.New("too many hosts to jump over")}
	}
	u, err := url.Parse("sftp://" + strings.TrimPrefix(over, "ssh://") + "/")
	if err != nil || u.Hostname() == "" {
		return nil, &setupError{errors.New("it is no [user@]host[:port]")}
	}
	if len(before) == 0 {
		before = nil // its own configuration may name one
	}
	d.hops = append(d.hops, io.NopCloser(nil)) // counts while it is being reached
	at := len(d.hops) - 1
	hop, err := d.login(ctx, d.o.address(u), before)
	if err != nil {
		return nil, err
	}
	d.hops[at] = hop
	return hop, nil
}

// handshake makes sure of the host and says who we are.
func (o *Options) handshake(conn net.Conn, h host) (*ssh.Client, error) {
	place := net.JoinHostPort(h.name, h.port)
	known, err := readKnownHosts(h)
	if err != nil {
		return nil, &setupError{err}
	}
	proof := &identity{o: o, host: h}
	defer proof.close()
	c, chans, reqs, err := ssh.NewClientConn(conn, place, &ssh.ClientConfig{
		User: h.user, Auth: proof.methods(), ClientVersion: "SSH-2.0-srpump",
		HostKeyCallback: known.check, HostKeyAlgorithms: known.algorithms(place, conn.RemoteAddr()),
	})
	if err != nil {
		return nil, o.explain(err, h, proof)
	}
	return ssh.NewClient(c, chans, reqs), nil
}

// explain tells failures an operator has to see to from those that pass.
func (o *Options) explain(err error, h host, proof *identity) error {
	var se *setupError
	switch {
	case errors.As(err, &se):
		return se // what a callback said, without what the library adds
	case strings.Contains(err.Error(), "unable to authenticate"): // no value to compare is exported
		return &setupError{fmt.Errorf("the server does not let %q in%s", h.user, proof.tried())}
	}
	return err
}

// setupError is a failure that lasts until somebody changes a file or a server.
type setupError struct{ error }

func (e *setupError) Unwrap() error { return e.error }

// session starts SFTP. Large packets are asked of servers only that are known to take them.
func session(ctx context.Context, client *ssh.Client) (*connection, error) {
	stop := context.AfterFunc(ctx, func() { client.Close() })
	defer stop()
	s, err := client.NewSession()
	if err != nil {
		return nil, err
	}
	in, _ := s.StdinPipe()
	out, _ := s.StdoutPipe()
	complaints, err := s.StderrPipe() // each fails when asked for twice only
	if err != nil {
		return nil, err
	}
	go func() { _, _ = io.Copy(io.Discard, complaints) }()
	if err := s.RequestSubsystem("sftp"); err != nil {
		if strings.Contains(err.Error(), "request failed") { // no value to compare is exported
			err = &setupError{errors.New("the server has no SFTP")}
		}
		return nil, err
	}
	w := &wire{Reader: out, WriteCloser: in, begun: time.Now()}
	files, err := sftp.NewClientPipe(w, w, sftp.MaxPacketUnchecked(largePacket))
	if err != nil {
		return nil, fmt.Errorf("cannot start SFTP: %w", err)
	}
	return &connection{files: files, ssh: client, wire: w}, nil
}
