package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"srpump/test/rabbit"
)

// A gauge asks the node how many messages a queue holds. A passive declaration
// tells only those that are ready; whether all are acknowledged, the node
// alone knows. So a process within the node answers on a loopback port.
type gauge struct {
	conn net.Conn
	r    *bufio.Reader
}

// A level is what a queue holds at a moment; absent queues have -1 of each.
type level struct{ ready, unacked, consumers int }

// gaugeServer is given to rabbitmqctl eval, and returns its port.
const gaugeServer = `Me = self(), spawn(fun() ->
  {ok, L} = gen_tcp:listen(0, [list, {active, false}, {packet, line}, {nodelay, true}, {ip, {127,0,0,1}}]),
  {ok, Port} = inet:port(L), Me ! {port, Port},
  Level = fun(Name) ->
    case rabbit_amqqueue:lookup(rabbit_misc:r(<<"/">>, queue, list_to_binary(Name))) of
      {ok, Q} -> [V || {_, V} <- rabbit_amqqueue:info(Q, [messages_ready, messages_unacknowledged, consumers])];
      _ -> [-1, -1, -1]
    end end,
  Serve = fun Serve(S) -> case gen_tcp:recv(S, 0) of
      {ok, Line} -> gen_tcp:send(S, io_lib:format("~w ~w ~w~n", Level(string:trim(Line)))), Serve(S);
      _ -> ok
    end end,
  {ok, S} = gen_tcp:accept(L), Serve(S) end),
receive {port, P} -> P after 5000 -> none end.`

func openGauge(n *rabbit.Node) (*gauge, error) {
	port, err := n.Ctl("eval", gaugeServer)
	if err != nil {
		return nil, err
	}
	conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strings.TrimSpace(port)))
	if err != nil {
		return nil, fmt.Errorf("cannot reach the gauge: %w", err)
	}
	return &gauge{conn, bufio.NewReader(conn)}, nil
}

func (g *gauge) close() { _ = g.conn.Close() }

func (g *gauge) level(queue string) (l level, err error) {
	if err := g.conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return l, err
	}
	if _, err := fmt.Fprintf(g.conn, "%s\n", queue); err != nil {
		return l, fmt.Errorf("cannot read gauge: %w", err)
	}
	if _, err = fmt.Fscanf(g.r, "%d %d %d\n", &l.ready, &l.unacked, &l.consumers); err != nil {
		return l, fmt.Errorf("cannot read gauge: %w", err)
	}
	return l, nil
}

// pollEvery is the resolution of what is measured through the gauge.
const pollEvery = 10 * time.Millisecond

// until asks, every pollEvery, until done says so; the program must not end before.
func (g *gauge) until(ctx context.Context, r *running, queue string, done func(level) bool) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var l level
	for {
		var err error
		if l, err = g.level(queue); err != nil {
			return time.Time{}, err
		}
		if done(l) {
			return time.Now(), nil
		}
		select {
		case <-tick.C:
		case <-r.ended:
			return time.Time{}, r.fault()
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("%s stands at %+v: %w", queue, l, os.ErrDeadlineExceeded)
		}
	}
}

// A passage is when a queue began to be consumed and when all of it was acknowledged.
type passage struct{ first, last time.Time }

// pass waits until the running program has consumed and acknowledged the n
// messages of a queue.
func (g *gauge) pass(ctx context.Context, r *running, queue string, n int) (p passage, err error) {
	p.first, err = g.until(ctx, r, queue, func(l level) bool { return l.ready < n })
	if err != nil {
		return p, err
	}
	p.last, err = g.until(ctx, r, queue, func(l level) bool { return l.ready == 0 && l.unacked == 0 })
	return p, err
}
