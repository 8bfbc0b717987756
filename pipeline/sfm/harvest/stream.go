package harvest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"srpump/pipeline/warc"
)

const (
	// longestLine is what a line of a stream may have, in bytes.
	longestLine = 32 << 20
	// lineGrace is how long a stream that is to end is given to come to the end of a line.
	lineGrace = 250 * time.Millisecond
)

// Stream asks for an answer without an end and hands on its lines, decoded and without line ends. It
// returns nil when the server ends it, or when another WARC is due: what is asked next goes on. What
// came is written down as it comes, and becomes one record when the connection ends. Servers that
// cannot be reached, or send nothing, are tried again as in Fetch. The error of each ends it.
func (w *Walk) Stream(ctx context.Context, q Request, each func(line []byte) error) error {
	for try := 1; ; try++ {
		lines, a, err := w.connection(ctx, q, each)
		var ended *endedBy
		switch {
		case errors.As(err, &ended):
			return ended.err
		case ctx.Err() != nil:
			return ctx.Err()
		case w.stopped():
			return ErrStopped
		case errors.As(err, new(*PersistError)):
			return err
		case a != nil && !temporary(a.Status):
			return &StatusError{w.client.scrub.text(q.URL), a.Status}
		case a != nil:
			err = &StatusError{w.client.scrub.text(q.URL), a.Status}
		}
		if err != nil && try >= w.most(w.again.Tries, err) && lines == 0 {
			return w.clean(err)
		}
		pause := w.again.after(try, a, w.now())
		w.log.Warn("harvest waits, asking again", "harvest", w.start.ID, "url", w.client.scrub.text(q.URL), "seconds", pause.Seconds(), "error", w.clean(err))
		if err := w.await(ctx, q.URL, pause); err != nil {
			return err
		}
		if lines > 0 || err == nil {
			return nil
		}
	}
}

// An endedBy is a stream that we have ended; nil is for another WARC.
type endedBy struct{ err error }

func (e *endedBy) Error() string { return "the stream was ended" }

// connection is one connection of a stream. The answer is one that is no stream.
func (w *Walk) connection(ctx context.Context, q Request, each func([]byte) error) (lines int, a *Answer, err error) {
	ctx, hangUp := context.WithCancel(ctx)
	defer hangUp()
	if q.Header = q.Header.Clone(); q.Header == nil {
		q.Header = map[string][]string{}
	}
	if q.Header.Get("Accept-Encoding") == "" {
		q.Header.Set("Accept-Encoding", "identity") // what is packed comes in blocks
	}
	if err := w.rec.ready(); err != nil {
		return 0, nil, err
	}
	var part *part
	block := &spill{dir: w.rec.dir}
	defer block.close()
	x, err := w.client.begin(ctx, q, func(x *exchange) (io.Writer, error) {
		if x.answer.StatusCode != 200 {
			return block, nil
		}
		part, err = openPart(w.rec.dir, w.partHead(x, q))
		return part, err
	})
	if err != nil {
		return 0, nil, err
	}
	if part == nil {
		a, err = w.take(x, q, block)
		return 0, a, err
	}
	lines, err = w.lines(ctx, hangUp, x, part, each)
	x.abandon()
	return lines, nil, errors.Join(err, w.rec.addPart(part, int64(x.surplus())))
}

// lines hands on lines until the stream ends, or is to.
func (w *Walk) lines(ctx context.Context, hangUp func(), x *exchange, p *part, each func([]byte) error) (n int, err error) {
	var ending atomic.Pointer[endedBy]
	over := make(chan struct{})
	defer close(over)
	go w.watch(ctx, hangUp, &ending, over)
	body, err := decode(x.answer.Body, x.answer.Header.Get("Content-Encoding"))
	if err != nil {
		return 0, err
	}
	in := bufio.NewScanner(body)
	in.Buffer(make([]byte, 64<<10), longestLine)
	for in.Scan() {
		if err := each(bytes.TrimSuffix(in.Bytes(), []byte{'\r'})); err != nil {
			return n, &endedBy{err}
		}
		n++
		if p.size >= w.rec.size {
			return n, &endedBy{}
		}
		if e := ending.Load(); e != nil {
			return n, e
		}
	}
	if e := ending.Load(); e != nil {
		return n, e
	}
	return n, in.Err()
}

// watch ends a stream when the harvest is to end, or when another WARC is due: at the end of a line if
// one comes soon.
func (w *Walk) watch(ctx context.Context, hangUp func(), ending *atomic.Pointer[endedBy], over <-chan struct{}) {
	due := time.NewTimer(max(0, w.rec.until()))
	defer due.Stop()
	select {
	case <-over:
		return
	case <-ctx.Done():
		return
	case <-w.stop:
		ending.Store(&endedBy{ErrStopped})
	case <-due.C:
		ending.Store(&endedBy{})
	}
	grace := time.NewTimer(lineGrace)
	defer grace.Stop()
	select {
	case <-over:
	case <-grace.C:
		hangUp()
	}
}

// partHead is what is known of a stream when it begins.
func (w *Walk) partHead(x *exchange, q Request) partHead {
	return partHead{ID: warc.NewID(), URI: w.client.scrub.uri(q.URL), At: x.stamp(w.now()), IP: x.ip, Request: w.client.scrub.request(x.request)}
}

// records are those of a stream that has ended, whose answer is in of that size. Its digests are made
// beforehand, so that it need not be copied once more.
func (h *partHead) records(in *io.SectionReader) ([]*warc.Record, error) {
	response := warc.New(warc.V10, warc.Response, h.URI, h.At)
	for i := range response.Fields {
		if response.Fields[i].Name == warc.FieldID {
			response.Fields[i].Value = h.ID
		}
	}
	response.Fields.Add(warc.FieldIP, h.IP)
	response.Fields.Add(warc.FieldTruncated, "time") // it has no end of its own
	if _, err := seal(response, in, in.Size()); err != nil {
		return nil, err
	}
	response.Block, response.Size = in, in.Size()
	request := warc.New(warc.V10, warc.Request, h.URI, h.At).With(string(h.Request))
	request.Fields.Add(warc.FieldConcurrentTo, response.ID())
	return []*warc.Record{response, request}, nil
}
