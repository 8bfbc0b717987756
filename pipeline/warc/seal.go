package warc

import (
	"fmt"
	"hash"
	"io"
)

// sealing makes the digests of a block that its record has not got yet.
type sealing struct {
	block   hash.Hash // nil when it is not made
	payload *splitter // of an HTTP message
	same    bool      // the payload is all of the block
}

// needs are the digests a record is to be given. A warcinfo record has no payload, and that
// of a revisit record is elsewhere.
func (w *Writer) needs(r *Record) (d sealing) {
	if w.o.Digest == NoDigest {
		return d
	}
	if r.Fields.Get(FieldBlockDigest) == "" {
		d.block = w.o.Digest.newHash()
	}
	kind := r.Type()
	if kind == Info || kind == Revisit || kind == Continuation || r.Fields.Get(FieldPayloadDigest) != "" {
		return d
	}
	if isHTTP(r.ContentType) || isHTTP(r.Fields.Get(FieldContentType)) {
		d.payload = &splitter{body: w.o.Digest.newHash()}
		return d
	}
	d.same = true
	if d.block == nil { // the block has a digest, its payload none
		d.payload = &splitter{body: w.o.Digest.newHash(), inBody: true}
	}
	return d
}

func (d *sealing) any() bool { return d.block != nil || d.payload != nil }

// Write is bytes of the block.
func (d *sealing) Write(p []byte) (int, error) {
	if d.block != nil {
		d.block.Write(p)
	}
	if d.payload != nil {
		d.payload.Write(p)
	}
	return len(p), nil
}

// sums are the digests as the fields hold them; "" is one not made.
func (d *sealing) sums(o WriteOptions) (block, payload string) {
	if d.block != nil {
		block = o.Digest.seal(d.block.Sum(nil), o.Hex)
	}
	switch {
	case d.payload != nil:
		d.payload.end()
		payload = o.Digest.seal(d.payload.body.Sum(nil), o.Hex)
	case d.same:
		payload = block
	}
	return block, payload
}

// PayloadDigest is what a writer would seal the payload of a block with: to know, before a
// record is written, whether the payload was seen before. An HTTP message is read past its header.
func PayloadDigest(block io.Reader, http bool, a Algorithm, inHex bool) (string, error) {
	s := splitter{body: a.newHash(), inBody: !http}
	if s.body == nil {
		return "", fmt.Errorf("cannot make digests of the algorithm %q", string(a))
	}
	if _, err := io.Copy(&s, block); err != nil {
		return "", err
	}
	s.end()
	return a.seal(s.body.Sum(nil), inHex), nil
}
