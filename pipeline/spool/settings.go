package spool

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"srpump/pump/broker"
	"srpump/pump/config"
)

// settings are what a configuration asks for.
type settings struct {
	direction string
	dir       string // of the messages or segments, absolute
	name      string // of the configuration
	once      bool
	paths     []string // segments to restore

	queue    broker.Queue
	bindings []broker.Binding
	exchange broker.Exchange // declared where it has a name
	declare  struct{ exchange, queue, bind bool }
	prefetch int
	minFree  config.FreeSpace // left on the disk

	publish broker.Publishing // what a message without a meta has; and the exchange all go to, where set
	to      string            // option of the broker published to
	settle  time.Duration
}

// defaultPrefetch is how many messages are in hand: a batch of them shares the syncs of the disk.
const defaultPrefetch = 200

// read takes the settings out of a configuration and refuses what cannot work.
func read(c *config.Config, cwd string, paths []string) (settings, error) {
	v := c.Values
	s := settings{direction: v.String("direction"), dir: v.String("directory"), name: c.Name, once: v.Bool("once"), paths: paths,
		prefetch: v.Int("prefetch"), to: "post_broker", settle: v.Duration("sleep")}
	if s.dir == "" {
		return s, usage("directory", "no directory of messages is named", "add directory DIR")
	}
	if !filepath.IsAbs(s.dir) {
		s.dir = filepath.Join(cwd, s.dir)
	}
	var err error
	if s.minFree, err = config.ParseFreeSpace(v.String("min_free")); err != nil {
		return s, err
	}
	if s.prefetch == 0 {
		s.prefetch = defaultPrefetch
	}
	s.exchange = broker.Exchange{Name: v.String("exchange")}
	s.declare.exchange, s.declare.queue, s.declare.bind = v.Bool("declare_exchange"), v.Bool("declare_queue"), v.Bool("bind_queue")
	switch s.direction {
	case "in", "save":
		return s, s.consuming(c)
	case "out", "restore":
		s.publishing(c)
		return s, nil
	}
	return s, usage("direction", "it is not said which way messages go", "write in, out, save or restore behind the command, or direction in the configuration")
}

// consuming reads the queue. SFM declares its own durable and without arguments, which is what is asked
// for where nothing is said.
func (s *settings) consuming(c *config.Config) error {
	v := c.Values
	s.queue = broker.Queue{Name: v.String("queue_name"), Transient: !v.Bool("durable"), Expires: v.Duration("expire"), MessageTTL: v.Duration("message_ttl")}
	if v.String("queue_type") == "quorum" {
		s.queue.Args = map[string]any{"x-queue-type": "quorum"}
	}
	if s.queue.Name == "" {
		return usage("queue_name", "no queue is named", "add queue_name NAME: it is made where it is missing, and bound to exchange and subtopic")
	}
	for _, b := range c.Bindings {
		key := b.Subtopic
		if b.Prefix != "" {
			key = b.Prefix + "." + key
		}
		if b.Exchange == "" && b.File != "" {
			return usage("subtopic", fmt.Sprintf("subtopic %q stands below no exchange", b.Subtopic), "add exchange NAME above it")
		}
		if b.Exchange != "" {
			s.bindings = append(s.bindings, broker.Binding{Queue: s.queue.Name, Exchange: b.Exchange, Pattern: key})
		}
	}
	return nil
}

// publishing reads what messages are published as.
func (s *settings) publishing(c *config.Config) {
	v := c.Values
	s.publish = broker.Publishing{Exchange: v.String("post_exchange"), ContentType: v.String("content_type"),
		ContentEncoding: v.String("content_encoding"), Transient: !v.Bool("persistent"), Mandatory: v.Bool("mandatory")}
	if s.publish.Exchange == "" {
		s.publish.Exchange = s.exchange.Name
	}
	s.exchange.Name = s.publish.Exchange
	if v.String("post_broker") == "" && v.String("broker") != "" {
		s.to = "broker"
	}
}

// usage is an error of the configuration, with what to do about it.
func usage(option, why, hint string) error {
	return &broker.Error{Op: "use", Object: option, Kind: errors.New(why), Hint: hint}
}
