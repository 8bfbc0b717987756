package pump

import (
	"bytes"
	"context"
	"io"
	"log/slog"

	"srpump/partition"
	"srpump/post"
	"srpump/pump/config"
	"srpump/pump/fetch"
	"srpump/pump/transfer"
)

// An inliner puts small files into their announcements (sr_options(5), inline).
type inliner struct {
	max      int64 // bytes; below zero: none is
	encoding string
}

// newInliner reads the options for who announces with a prefix. v02 has no place for a file.
func newInliner(c *config.Config, prefix string, log *slog.Logger) inliner {
	switch {
	case !c.Values.Bool("inline"):
		return inliner{max: -1}
	case !post.IsV03(prefix):
		log.Warn("inline has no effect", "prefix", prefix, "hint", "announcements of v02 cannot carry a file; with post_topic_prefix v03.post they are of v03")
		return inliner{max: -1}
	}
	return inliner{max: min(c.Values.Size("inline_max"), post.MaxContent), encoding: c.Values.String("inline_encoding")}
}

// attach gives the announcement of a whole small file what the file at path holds, as long as
// that is what is announced; else it is left to be fetched.
func (n inliner) attach(a *post.Announcement, path string) {
	if n.max < 0 || a.Block.Method != partition.Whole || a.Size() > n.max || a.Sum.IsLink() || a.Sum.IsRemoval() {
		return
	}
	s, err := openFile(path)
	if err != nil {
		return
	}
	defer s.close()
	data, err := io.ReadAll(io.LimitReader(s.f, a.Size()+1))
	if err != nil || int64(len(data)) != a.Size() || !sums(a.Sum, data) {
		return
	}
	c := &post.Content{Data: data, Binary: n.encoding == "binary"}
	if n.encoding != "text" || c.Textual() {
		a.Content = c
	}
}

// sums reports whether data has the fingerprint, or it is one that says nothing of bytes.
func sums(sum post.Fingerprint, data []byte) bool {
	if !sum.Verifiable() {
		return true
	}
	h := post.NewHash(sum.Method)
	h.Write(data)
	return post.OfHash(sum.Method, h).Equal(sum)
}

// A carried is a file that came with its announcement: a source of it that needs no network.
type carried []byte

func (c carried) Get(context.Context, transfer.Request) (*transfer.Body, error) {
	return &transfer.Body{ReadCloser: io.NopCloser(bytes.NewReader(c)), Size: int64(len(c))}, nil
}

func (carried) Close() error { return nil }

// carried stages the file an announcement carries, by the way of all fetched files. It is nil where there is
// none, or one that is not what is announced: then it is fetched.
func (f *Flow) carried(ctx context.Context, j *job, tree *fetch.Tree) (*fetch.Staged, error) {
	c := j.a.Content
	if c == nil || !j.a.HasBlock() && !j.a.Sum.Verifiable() {
		return nil, nil
	}
	from := f.fetchJob(j, tree)
	from.Source, from.Pace, from.Moved = carried(c.Data), nil, nil
	s, err := fetch.Fetch(ctx, from)
	switch {
	case fetch.ClassOf(err) == fetch.Oversize:
		err = nil
	case err == nil && s.Match:
		j.carried = true
		return s, nil
	case err == nil:
		s.Discard()
	default:
		return nil, err
	}
	f.host.Log.Warn("carried content is not what is announced, fetching", "path", j.at.Full(), "bytes", len(c.Data), "announced", j.a.Sum)
	return nil, nil
}
