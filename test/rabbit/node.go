package rabbit

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// scripts is where Debian keeps the plain scripts; the ones in /usr/sbin drop
// to the rabbitmq user and the machine's own node.
const scripts = "/usr/lib/rabbitmq/bin"

// startDeadline is how long a node may take until it accepts connections.
const startDeadline = 60 * time.Second

// ErrAbsent says that RabbitMQ is not installed.
var ErrAbsent = errors.New("rabbitmq-server is not installed")

// A Node is one RabbitMQ node. Its exported fields are all that another
// process needs to join it.
type Node struct {
	Name string `json:"name"` // Erlang node name
	Dir  string `json:"dir"`  // data, logs, cookie
	Port int    `json:"port"` // AMQP on 127.0.0.1
	Dist int    `json:"dist"` // Erlang distribution
	EPMD int    `json:"epmd"`
	// Management is the port of the management plugin; 0 where it is not enabled.
	Management int `json:"management"`

	mu           sync.Mutex
	server, epmd *guarded // nil when another process runs the node
}

// Launch starts a node that keeps everything below dir, and returns when it
// accepts connections.
func Launch(dir string) (*Node, error) { return launch(dir, false) }

// LaunchManaged is Launch with the management plugin, which makes the start some seconds longer.
func LaunchManaged(dir string) (*Node, error) { return launch(dir, true) }

func launch(dir string, managed bool) (*Node, error) {
	if _, err := os.Stat(filepath.Join(scripts, "rabbitmq-server")); err != nil {
		return nil, ErrAbsent
	}
	ports, err := freePorts(4)
	if err != nil {
		return nil, fmt.Errorf("cannot find a free port: %w", err)
	}
	n := &Node{Dir: dir, Port: ports[0], Dist: ports[1], EPMD: ports[2],
		Name: fmt.Sprintf("srpump-%d-%d@localhost", os.Getpid(), ports[0])}
	if managed {
		n.Management = ports[3]
	}
	if err := n.writeFiles(); err != nil {
		return nil, err
	}
	if n.epmd, err = guard(filepath.Join(dir, "epmd.log"), n.environ(), "epmd"); err != nil {
		return nil, err
	}
	if err := awaitPort(n.EPMD); err != nil {
		n.Close()
		return nil, fmt.Errorf("cannot start epmd: %w", err)
	}
	if err := n.Restart(); err != nil {
		n.Close()
		return nil, err
	}
	return n, nil
}

// Join returns the node described by env, as printed by Env.
func Join(env string) (*Node, error) {
	n := new(Node)
	if err := json.Unmarshal([]byte(env), n); err != nil {
		return nil, fmt.Errorf("cannot read %s %q: %w", EnvName, env, err)
	}
	return n, nil
}

// Env is the value of EnvName by which other processes join the node.
func (n *Node) Env() string {
	b, err := json.Marshal(n)
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	return string(b)
}

// Addr is host:port of the AMQP listener.
func (n *Node) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(n.Port)) }

// URL is the AMQP URL of vhost "/" for one of the package's users.
func (n *Node) URL(user string) string { return n.URLAt(n.Addr(), user) }

// URLAt is URL by way of another address, such as a proxy's.
func (n *Node) URLAt(addr, user string) string {
	u := url.URL{Scheme: "amqp", User: url.UserPassword(user, user), Host: addr, Path: "/"}
	return u.String()
}

// ManagementURL is where the management plugin answers.
func (n *Node) ManagementURL() string {
	return "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(n.Management))
}

// AdminURL is URL of the admin.
func (n *Node) AdminURL() string { return n.URL("admin") }

// Kill ends the node as kill -9 does; its data stays for Restart. It does
// nothing to a node that another process runs.
func (n *Node) Kill() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.server != nil {
		n.server.kill()
		n.server = nil
	}
}

// Restart starts the node again on the same ports and data, and returns when
// it accepts connections. A node still running is killed first.
func (n *Node) Restart() error {
	n.Kill()
	g, err := guard(filepath.Join(n.Dir, "server.log"), n.environ(), filepath.Join(scripts, "rabbitmq-server"))
	if err != nil {
		return err
	}
	n.mu.Lock()
	n.server = g
	n.mu.Unlock()
	return n.await(g)
}

// Ctl runs rabbitmqctl on the node and returns what it printed.
func (n *Node) Ctl(args ...string) (string, error) {
	cmd := exec.Command(filepath.Join(scripts, "rabbitmqctl"), append([]string{"-q", "-n", n.Name}, args...)...)
	cmd.Env = n.environ()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("cannot run rabbitmqctl %q: %w: %s", args, err, out)
	}
	return string(out), nil
}

// Close ends the node and its epmd. The directory is left to its owner.
func (n *Node) Close() {
	n.Kill()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.epmd != nil {
		n.epmd.kill()
		n.epmd = nil
	}
}

// await returns when the node lets the admin in.
func (n *Node) await(g *guarded) error {
	var last error
	for end := time.Now().Add(startDeadline); time.Now().Before(end); {
		c, err := amqp.Dial(n.AdminURL())
		if err == nil {
			return c.Close()
		}
		last = err
		select {
		case <-g.ended:
			return fmt.Errorf("cannot start node %q: it ended; see %q", n.Name, filepath.Join(n.Dir, "server.log"))
		case <-time.After(50 * time.Millisecond):
		}
	}
	return fmt.Errorf("cannot start node %q within %v: %w", n.Name, startDeadline, last)
}

func awaitPort(port int) error {
	var last error
	for end := time.Now().Add(startDeadline); time.Now().Before(end); {
		c, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return c.Close()
		}
		last = err
		<-time.After(10 * time.Millisecond)
	}
	return last
}

// freePorts returns n TCP ports nobody listens on at this moment.
func freePorts(n int) ([]int, error) {
	ports := make([]int, 0, n)
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
