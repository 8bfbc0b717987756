// Package brokertest is what every broker engine promises, as tests. An engine
// calls Run from its own tests; RabbitMQ's behaviour is the reference, and
// where brokers may differ (the timing of acknowledgements, the number of
// duplicates after a cut) the suite does not look.
package brokertest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"strings"
	"sync"
	"testing"
	"time"

	"srpump/pump/broker"
)

// patience bounds every wait of the suite.
const patience = 60 * time.Second

// A Harness is one engine under test.
type Harness struct {
	// Open returns a fresh connection to the same broker. The suite closes it.
	Open func(t testing.TB) broker.Conn
	// Cut, where set, breaks every connection of the engine once. The checks
	// that survive a cut then run again while connections break at random.
	Cut func(t testing.TB)
	// Lacks names checks the engine cannot pass, with the reason.
	Lacks map[string]string
}

// A check is one promise. Steady ones say something exact about a connection
// and are not run while connections are being cut.
type check struct {
	name   string
	steady bool
	run    func(e *env)
}

// Run holds an engine to the contract, one subtest for each promise.
func Run(t *testing.T, h Harness) {
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) { runCheck(t, h, c, false) })
	}
	if h.Cut == nil {
		return
	}
	for _, c := range checks() {
		if !c.steady {
			t.Run("cut/"+c.name, func(t *testing.T) { runCheck(t, h, c, true) })
		}
	}
}

func runCheck(t *testing.T, h Harness, c check, cut bool) {
	if why, ok := h.Lacks[c.name]; ok {
		t.Skip(why)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	e := &env{T: t, h: h, ctx: ctx, cutting: cut, id: randomID()}
	t.Cleanup(e.sweep)
	if cut {
		stop := e.startCutting()
		t.Cleanup(stop)
	}
	e.conn = e.open()
	c.run(e)
}

func checks() []check {
	var all []check
	for _, part := range [][]check{
		routingChecks(), topologyChecks(), publishChecks(), consumeChecks(),
		sharingChecks(), contentChecks(), lifetimeChecks(), closeChecks(),
	} {
		all = append(all, part...)
	}
	return all
}

// An env is what one check works with: a connection, and names of its own.
type env struct {
	*testing.T
	h       Harness
	ctx     context.Context
	conn    broker.Conn
	id      string
	cutting bool

	mu        sync.Mutex
	count     int
	queues    []string
	exchanges []string
}

func randomID() string {
	var b [6]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// name makes a name no other check and no other run uses.
func (e *env) name(kind string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.count++
	name := strings.Join([]string{"bt", kind, e.id, itoa(e.count)}, "_")
	switch kind {
	case "q":
		e.queues = append(e.queues, name)
	case "x":
		e.exchanges = append(e.exchanges, name)
	}
	return name
}

func (e *env) open() broker.Conn {
	e.Helper()
	c := e.h.Open(e)
	e.Cleanup(func() {
		if err := c.Close(); err != nil {
			e.Errorf("close: %v", err)
		}
	})
	return c
}

// sweep removes what the check declared; the broker may outlive the suite.
func (e *env) sweep() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := e.h.Open(e)
	defer c.Close()
	for _, q := range e.queues {
		c.DeleteQueue(ctx, q)
	}
	for _, x := range e.exchanges {
		c.DeleteExchange(ctx, x, false)
	}
}

func (e *env) must(err error) {
	e.Helper()
	if err != nil {
		e.Fatalf("%v", err)
	}
}
