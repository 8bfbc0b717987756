package harvest

import (
	"io"

	"srpump/pipeline/warc"
)

// record writes an exchange: the response and, referring to it, the request. size is how much of the
// block is the answer.
func (w *Walk) record(x *exchange, q Request, a *Answer, block *spill, size int64, truncated string) error {
	at, uri := x.stamp(w.now()), w.client.scrub.uri(q.URL)
	response := warc.New(warc.V10, warc.Response, uri, at)
	response.Fields.Add(warc.FieldIP, x.ip)
	response.Fields.Add(warc.FieldTruncated, truncated)
	in, err := block.reader()
	if err == nil {
		a.Digest, err = seal(response, in, size)
	}
	if err != nil {
		return &PersistError{err}
	}
	response.Block, response.Size = io.LimitReader(in, size), size
	if first := q.first(a, truncated); first != nil {
		head, err := headOf(in, size)
		if err != nil {
			return &PersistError{err}
		}
		response = warc.NewRevisit(warc.V10, uri, at, first).With(head)
		response.Fields.Add(warc.FieldIP, x.ip)
	}
	a.Record = &warc.Record{Version: response.Version, Fields: response.Fields}
	return w.rec.add(size, response, w.requestRecord(x, response))
}

// seal gives a response its digests, that of the payload first as others do, and goes back to the
// beginning of the block. It returns that of the payload.
func seal(response *warc.Record, block io.ReadSeeker, size int64) (digest string, err error) {
	for _, part := range []struct {
		field   string
		payload bool
	}{{warc.FieldPayloadDigest, true}, {warc.FieldBlockDigest, false}} {
		sum, err := warc.PayloadDigest(io.LimitReader(block, size), part.payload, warc.SHA1, true)
		if err != nil {
			return "", err
		}
		response.Fields.Add(part.field, sum)
		if part.payload {
			digest = sum
		}
		if _, err := block.Seek(0, io.SeekStart); err != nil {
			return "", err
		}
	}
	return digest, nil
}

// first is the record that holds what came again, or nil.
func (q *Request) first(a *Answer, truncated string) *warc.Record {
	if q.Seen == nil || truncated != "" || a.Status != 200 {
		return nil
	}
	return q.Seen(a.Digest, q.URL)
}

// headOf is the HTTP header of a block.
func headOf(in io.Reader, size int64) (string, error) {
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
