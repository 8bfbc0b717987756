package harvest

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"strings"

	"srpump/partition"
	"srpump/pipeline/sfm"
	"srpump/post"
)

// An Announce is how WARCs are announced as files (sr_post(7)), for pumps to mirror them.
type Announce struct {
	Out     Outbox
	Base    string            // post_base_url
	Dir     string            // what it serves: the announced paths are below it; "" is /
	Headers map[string]string // besides those of the harvest: source, from_cluster, to_clusters
}

// rel is a path as it is announced.
func (a *Announce) rel(local string) (string, error) {
	rel, err := filepath.Rel("/"+strings.Trim(a.Dir, "/"), local)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return "", fmt.Errorf("path %q is not below %q, the directory that is announced (-d)", local, cmp.Or(a.Dir, "/"))
	}
	return rel, nil
}

// message is the announcement of a WARC, in the order of its harvest.
func (a *Announce) message(c *sfm.Created, md5, local string) (*message, error) {
	rel, err := a.rel(local)
	if err != nil {
		return nil, err
	}
	ann := post.Announcement{Topic: post.MakeTopic(post.DefaultPrefix, rel, true), Time: post.At(c.Date.Time), Base: a.Base, Path: rel,
		Sum: post.Fingerprint{Method: "d", Value: md5}, Block: partition.WholeFile(c.Bytes), Headers: make(map[string]any)}
	for name, value := range a.Headers {
		ann.SetHeader(name, value)
	}
	own := c.Headers()
	own["flow"], own["mtime"] = "sfm", post.FormatTime(c.Date.Time)
	for name, value := range own {
		ann.SetHeader(name, value)
	}
	m, err := post.EncodeV02(&ann)
	if err != nil {
		return nil, err
	}
	return &message{Number: a.Out.Next(0), Key: m.Topic, Order: c.HarvestID, Headers: maps.Clone(m.Headers), Body: string(m.Body)}, nil
}
