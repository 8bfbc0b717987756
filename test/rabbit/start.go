package rabbit

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
)

// EnvName is the environment variable by which a test process joins a node
// that is already running; its value is that of Node.Env.
const EnvName = "SRPUMP_RABBIT"

// shared is the node of this test process.
var shared struct {
	sync.Mutex
	node *Node
	err  error
	dir  string
}

// Start returns the node shared by all tests of this process: the one named by
// EnvName, or one started now. The test is skipped when RabbitMQ is not
// installed, and fails when SRPUMP_REQUIRE is 1. A package that uses it calls
// Main from TestMain, so that the node's files are removed.
func Start(t testing.TB) *Node {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.node == nil && shared.err == nil {
		shared.node, shared.err = sharedNode()
	}
	return need(t, shared.node, shared.err)
}

// Own returns a node of the test's own, which it may kill and restart.
func Own(t testing.TB) *Node {
	t.Helper()
	n, err := Launch(t.TempDir())
	n = need(t, n, err)
	t.Cleanup(n.Close)
	return n
}

// OwnManaged is Own with the management plugin.
func OwnManaged(t testing.TB) *Node {
	t.Helper()
	n, err := LaunchManaged(t.TempDir())
	n = need(t, n, err)
	t.Cleanup(n.Close)
	return n
}

// Main runs the tests and returns the exit status, after ending the node that
// Start may have started.
func Main(m *testing.M) int {
	defer func() {
		shared.Lock()
		defer shared.Unlock()
		if shared.node != nil {
			shared.node.Close()
		}
		if shared.dir != "" {
			_ = os.RemoveAll(shared.dir)
		}
	}()
	return m.Run()
}

func sharedNode() (*Node, error) {
	if env := os.Getenv(EnvName); env != "" {
		return Join(env)
	}
	dir, err := os.MkdirTemp("", "srpump-rabbit-")
	if err != nil {
		return nil, fmt.Errorf("cannot make the node's directory: %w", err)
	}
	shared.dir = dir
	return Launch(dir)
}

func need(t testing.TB, n *Node, err error) *Node {
	t.Helper()
	switch {
	case err == nil:
	case errors.Is(err, ErrAbsent) && os.Getenv("SRPUMP_REQUIRE") != "1":
		t.Skip(err)
	default:
		t.Fatal(err)
	}
	return n
}
