package spool

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"srpump/post"
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

	segmentSize int64 // bytes at which a segment is sealed
	segmentAge  time.Duration
	announce    announce

	keys         []string // patterns of what is restored; none is all
	since, until time.Time
	target       string // the broker restored to, without its password
	memory       string // directory that remembers how far segments are restored
	again        bool   // whatever that says
}

// announce is how sealed segments are announced: not at all without an exchange.
type announce struct{ exchange, prefix, baseURL, baseDir string }

// defaultPrefetch is how many messages are in hand: a batch of them shares the syncs of the disk.
const defaultPrefetch = 200

// read takes the settings out of a configuration and refuses what cannot work.
func read(c *config.Config, h Host, paths []string) (settings, error) {
	v := c.Values
	s := settings{direction: v.String("direction"), dir: v.String("directory"), name: c.Name, once: v.Bool("once"), paths: paths,
		prefetch: v.Int("prefetch"), to: "post_broker", settle: v.Duration("sleep")}
	if s.dir == "" && (s.direction != "restore" || len(paths) == 0) {
		return s, usage("directory", "no directory of messages is named", "add directory DIR")
	}
	if !filepath.IsAbs(s.dir) {
		s.dir = filepath.Join(h.Cwd, s.dir)
	}
	var err error
	if s.minFree, err = config.ParseFreeSpace(v.String("min_free")); err != nil {
		return s, err
	}
	if s.prefetch == 0 {
		s.prefetch = defaultPrefetch
	}
	s.exchange = broker.Exchange{Name: v.String("exchange"), Kind: v.String("exchange_type"), Transient: !v.Bool("durable")}
	s.declare.exchange, s.declare.queue, s.declare.bind = v.Bool("declare_exchange"), v.Bool("declare_queue"), v.Bool("bind_queue")
	switch s.direction {
	case "in":
		return s, s.consuming(c)
	case "save":
		return s, errors.Join(s.consuming(c), s.announcing(c, h))
	case "out":
		s.publishing(c)
		return s, nil
	case "restore":
		s.publishing(c)
		return s, s.restoring(c, h)
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

// announcing reads how sealed segments are announced, and when they are sealed.
func (s *settings) announcing(c *config.Config, h Host) error {
	v := c.Values
	s.segmentSize, s.segmentAge = v.Size("segment_size"), v.Duration("segment_age")
	if s.segmentSize <= 0 || s.segmentAge <= 0 {
		return usage("segment_size", "a segment has to end some time", "segment_size and segment_age are more than 0")
	}
	if v.String("post_broker") == "" {
		return nil
	}
	s.announce = announce{exchange: v.String("post_exchange"), prefix: v.String("post_topic_prefix"), baseURL: v.String("post_base_url"), baseDir: v.String("post_base_dir")}
	if s.announce.exchange == "" {
		return usage("post_broker", "no exchange is named that segments are announced to", "add post_exchange NAME, or take post_broker out")
	}
	if s.announce.baseURL == "" {
		s.announce.baseURL = post.LocalBase
	}
	if dir := s.announce.baseDir; dir != "" && !filepath.IsAbs(dir) {
		s.announce.baseDir = filepath.Join(h.Cwd, dir)
	}
	return nil
}

// restoring reads which messages of segments are published again.
func (s *settings) restoring(c *config.Config, h Host) (err error) {
	v := c.Values
	for _, b := range c.Bindings {
		key := b.Subtopic
		if b.Prefix != "" {
			key = b.Prefix + "." + key
		}
		s.keys = append(s.keys, key)
	}
	if s.since, err = h.Instant(v.String("since")); err != nil {
		return err
	}
	if s.until, err = h.Instant(v.String("until")); err != nil {
		return err
	}
	s.target, s.again = v.Text(s.to), v.Bool("reset")
	s.memory = filepath.Join(c.State().Dir(), "restored")
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
