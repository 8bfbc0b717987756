package fetch

import (
	"context"
	"errors"

	"srpump/pump/transfer"
)

// errMixed is a source that was written to while it was read.
var errMixed = errors.New("it changed while it was fetched")

// steady fails where the source, which was v when the fetch began, is certainly another now: what was read may be a
// part of each. It is for bytes that no checksum vouches for, and asks for one of them again; small files are read at
// once, and spared the question. Who cannot tell is believed. A time of change goes before an ETag, which may differ
// between the hosts behind one name.
func (j *Job) steady(ctx context.Context, s *Staged, v transfer.Validator) error {
	if j.Sum.Verifiable() || s.Size < pipelined || v == (transfer.Validator{}) {
		return nil
	}
	body, err := j.Source.Get(ctx, transfer.Request{URL: j.Request.URL, Offset: j.Request.Offset, Length: 1})
	if err != nil {
		return nil // gone, or not to be asked: nothing shows that it has changed
	}
	defer body.Close()
	now := body.Validator
	if !v.ModTime.IsZero() && !now.ModTime.IsZero() {
		v.ETag, now.ETag = "", ""
	}
	if v.Differs(now) {
		return transfer.Fail("get", j.Request.URL, transfer.Temporary, errMixed)
	}
	return nil
}
