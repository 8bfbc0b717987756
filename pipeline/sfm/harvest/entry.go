package harvest

import (
	"io"

	"srpump/pipeline/warc"
)

// record writes an exchange: the response and, referring to it, the request. size is how much of the
// block is the answer.
func (w *Walk) record(x *exchange, q Request, a *Answer, block *spill, size int64, truncated string) error {
	at, uri := x.stamp(w.now()), w.client.scrub.uri(q.URL)
	in, err := block.reader()
	if err != nil {
		return &PersistError{err}
	}
	if a.Digest, err = warc.PayloadDigest(io.LimitReader(in, size), true, warc.SHA1, true); err != nil {
		return &PersistError{err}
	}
	var response *warc.Record
	if first := q.first(a, truncated); first != nil {
		head, err := headOf(block, size)
		if err != nil {
			return &PersistError{err}
		}
		response = warc.NewRevisit(warc.V10, uri, at, first).With(head)
	} else {
		if in, err = block.reader(); err != nil {
			return &PersistError{err}
		}
		response = warc.New(warc.V10, warc.Response, uri, at)
		response.Block, response.Size = io.LimitReader(in, size), size
	}
	response.Fields.Add(warc.FieldIP, x.ip)
	response.Fields.Add(warc.FieldTruncated, truncated)
	if response.Type() == warc.Response {
		response.Fields.Add(warc.FieldPayloadDigest, a.Digest)
	}
	a.Record = &warc.Record{Version: response.Version, Fields: response.Fields}
	return w.rec.add(size, response, w.requestRecord(x, response))
}

// first is the record that holds what came again, or nil.
func (q *Request) first(a *Answer, truncated string) *warc.Record {
	if q.Seen == nil || truncated != "" || a.Status != 200 {
		return nil
	}
	return q.Seen(a.Digest, q.URL)
}

// headOf is the HTTP header of a block.
func headOf(block *spill, size int64) (string, error) {
	in, err := block.reader()
	if err != nil {
		return "", err
	}
	m, err := warc.ReadMessage(io.LimitReader(in, size))
	if err != nil {
		return "", err
	}
	head := m.Start + "\r\n" + m.Fields.String() + "\r\n"
	return head, nil
}

func (w *Walk) requestRecord(x *exchange, response *warc.Record) *warc.Record {
	at, _ := response.Date()
	request := warc.New(warc.V10, warc.Request, response.URI(), at).With(string(w.client.scrub.request(x.request)))
	request.Fields.Add(warc.FieldConcurrentTo, response.ID())
	return request
}
