package manage

import (
	"context"
	"fmt"
	"net/http"
)

// An Exchange of the vhost.
type Exchange struct {
	Name     string `json:"name"` // empty for the default one
	Type     string `json:"type"`
	Durable  bool   `json:"durable"`
	Internal bool   `json:"internal"` // the broker's own, such as a federation's
}

// Exchanges are those of the vhost.
func (c *Client) Exchanges(ctx context.Context) ([]Exchange, error) {
	return get[[]Exchange](ctx, c, "exchanges", "columns=name,type,durable,internal", "exchanges", c.vhost)
}

// PutExchange makes a durable topic exchange.
func (c *Client) PutExchange(ctx context.Context, name string) error {
	in := map[string]any{"type": "topic", "durable": true}
	if err := c.call(ctx, http.MethodPut, []string{"exchanges", c.vhost, name}, "", in, nil); err != nil {
		return fmt.Errorf("cannot declare exchange %q: %w", name, err)
	}
	return nil
}

// DeleteExchange deletes it with its bindings.
func (c *Client) DeleteExchange(ctx context.Context, name string) error {
	return c.remove(ctx, "exchange", name, "exchanges", c.vhost, name)
}

// A Queue of the vhost. Messages and Consumers are seconds old.
type Queue struct {
	Name      string `json:"name"`
	State     string `json:"state"` // running, flow, down, stopped, crashed …
	Messages  int    `json:"messages"`
	Consumers int    `json:"consumers"`
	Exclusive bool   `json:"exclusive"` // of one connection, which alone may delete it
}

// Queues are those of the vhost.
func (c *Client) Queues(ctx context.Context) ([]Queue, error) {
	return get[[]Queue](ctx, c, "queues", "columns=name,state,messages,consumers,exclusive", "queues", c.vhost)
}

// DeleteQueue deletes it with what waits in it.
func (c *Client) DeleteQueue(ctx context.Context, name string) error {
	return c.remove(ctx, "queue", name, "queues", c.vhost, name)
}

// An Overview is the broker as a whole.
type Overview struct {
	Version string `json:"rabbitmq_version"`
	Cluster string `json:"cluster_name"`
	Totals  struct {
		Connections int `json:"connections"`
		Queues      int `json:"queues"`
		Exchanges   int `json:"exchanges"`
		Consumers   int `json:"consumers"`
	} `json:"object_totals"`
	Waiting struct {
		Messages int `json:"messages"`
	} `json:"queue_totals"`
}

// Overview asks for it.
func (c *Client) Overview(ctx context.Context) (Overview, error) {
	return get[Overview](ctx, c, "the broker", "", "overview")
}

// A Node is one server of the broker's cluster. The alarms stop publishers.
type Node struct {
	Name        string `json:"name"`
	Running     bool   `json:"running"`
	MemoryAlarm bool   `json:"mem_alarm"`
	DiskAlarm   bool   `json:"disk_free_alarm"`
}

// Nodes are those of the cluster.
func (c *Client) Nodes(ctx context.Context) ([]Node, error) {
	return get[[]Node](ctx, c, "nodes", "columns=name,running,mem_alarm,disk_free_alarm", "nodes")
}
