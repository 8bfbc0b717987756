package amqp

import (
	"slices"
	"sync"

	"srpump/pump/broker"
)

// A ledger remembers what was declared through a conn, in order.
type ledger struct {
	mu        sync.Mutex
	exchanges []broker.Exchange
	queues    []broker.Queue
	bindings  []broker.Binding
}

func (g *ledger) addExchange(e broker.Exchange) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.exchanges = append(without(g.exchanges, func(x broker.Exchange) bool { return x.Name == e.Name }), e)
}

func (g *ledger) addQueue(q broker.Queue) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.queues = append(without(g.queues, func(x broker.Queue) bool { return x.Name == q.Name }), q)
}

func (g *ledger) addBinding(b broker.Binding) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.bindings = append(without(g.bindings, func(x broker.Binding) bool { return x == b }), b)
}

func (g *ledger) dropBinding(b broker.Binding) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.bindings = without(g.bindings, func(x broker.Binding) bool { return x == b })
}

// dropQueue forgets a queue and, as the broker does, its bindings.
func (g *ledger) dropQueue(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.queues = without(g.queues, func(x broker.Queue) bool { return x.Name == name })
	g.bindings = without(g.bindings, func(x broker.Binding) bool { return x.Queue == name })
}

// dropExchange forgets an exchange and, as the broker does, its bindings.
func (g *ledger) dropExchange(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.exchanges = without(g.exchanges, func(x broker.Exchange) bool { return x.Name == name })
	g.bindings = without(g.bindings, func(x broker.Binding) bool { return x.Exchange == name })
}

// hasQueue tells whether a queue was declared, and not only looked at.
func (g *ledger) hasQueue(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.ContainsFunc(g.queues, func(x broker.Queue) bool { return x.Name == name })
}

// copy returns what must be declared so that queue works, or everything when
// queue is empty.
func (g *ledger) copy(queue string) (exchanges []broker.Exchange, queues []broker.Queue, bindings []broker.Binding) {
	g.mu.Lock()
	defer g.mu.Unlock()
	queues = without(slices.Clone(g.queues), func(x broker.Queue) bool { return queue != "" && x.Name != queue })
	bindings = without(slices.Clone(g.bindings), func(x broker.Binding) bool { return queue != "" && x.Queue != queue })
	return slices.Clone(g.exchanges), queues, bindings
}

func without[T any](s []T, is func(T) bool) []T { return slices.DeleteFunc(s, is) }
