package spool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"srpump/partition"
	"srpump/post"
	"srpump/pump/broker"
)

// announcedName holds the name of the last segment that was announced.
const announcedName = ".announced"

// A teller announces sealed segments, each once it is confirmed or again. Without a post_broker it
// does nothing.
type teller struct {
	*Spooler
	conn broker.Conn
	pub  broker.Publisher
	last string // announced; names sort by time
}

func (s *Spooler) newTeller(ctx context.Context) (t *teller, err error) {
	t = &teller{Spooler: s}
	if s.set.announce.exchange == "" {
		return t, nil
	}
	last, err := os.ReadFile(filepath.Join(s.set.dir, announcedName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot read which segments were announced: %w", err)
	}
	t.last = strings.TrimSpace(string(last))
	if t.conn, err = s.host.Open(ctx, "post_broker", false); err != nil {
		return nil, err
	}
	err = t.conn.DeclareExchange(ctx, broker.Exchange{Name: s.set.announce.exchange})
	if err != nil && !errors.Is(err, broker.ErrRefused) {
		return nil, errors.Join(err, t.conn.Close())
	}
	if t.pub, err = t.conn.Publisher(ctx, broker.PublishOptions{}); err != nil {
		return nil, errors.Join(err, t.conn.Close())
	}
	return t, nil
}

// all announces those of the segments that are later than the last one.
func (t *teller) all(ctx context.Context, names []string) error {
	if t.pub == nil {
		return nil
	}
	for _, path := range names {
		if filepath.Base(path) <= t.last {
			continue
		}
		if err := t.announce(ctx, path); err != nil {
			return fmt.Errorf("cannot announce %q: %w", path, err)
		}
		if err := Replace(filepath.Join(t.set.dir, announcedName), []byte(filepath.Base(path)+"\n"), 0o644); err != nil {
			return fmt.Errorf("cannot remember what was announced: %w", err)
		}
		t.last = filepath.Base(path)
	}
	return nil
}

// announce posts one segment and waits for the broker's word.
func (t *teller) announce(ctx context.Context, path string) error {
	p, err := t.publishing(path)
	if err != nil {
		return err
	}
	taken := make(chan error, 1)
	if err := t.pub.Publish(ctx, p, func(err error) { taken <- err }); err != nil {
		return err
	}
	select {
	case err = <-taken:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err == nil {
		t.host.Log.Info("announced", "topic", p.Key, "path", path)
	}
	return err
}

// publishing is the announcement of a segment: a whole file with its MD5 (sr_post(7)).
func (t *teller) publishing(path string) (p broker.Publishing, err error) {
	f, err := os.Open(path)
	if err != nil {
		return p, err
	}
	defer f.Close()
	sum, size, err := post.OfReader(post.SumMD5, f, make([]byte, 256<<10))
	if err != nil {
		return p, err
	}
	set := t.set.announce
	rel := strings.TrimPrefix(path, "/")
	if within, err := filepath.Rel(set.baseDir, path); set.baseDir != "" && err == nil && !strings.HasPrefix(within, "../") {
		rel = within
	}
	m, err := post.EncodeV02(&post.Announcement{Topic: post.MakeTopic(set.prefix, rel, true), Time: post.At(t.host.Now()),
		Base: set.baseURL, Path: rel, Sum: sum, Block: partition.WholeFile(size)})
	return broker.Publishing{Exchange: set.exchange, Key: m.Topic, Headers: m.Headers, Body: m.Body,
		ContentType: m.ContentType, ContentEncoding: post.ContentEncoding}, err
}

func (t *teller) close() error {
	if t.pub == nil {
		return nil
	}
	return errors.Join(t.pub.Close(), t.conn.Close())
}
