package fetch

import (
	"context"
	"encoding"
	"errors"
	"hash"
	"io"

	"golang.org/x/sys/unix"

	"srpump/post"
	"srpump/pump/transfer"
)

// resume goes on with a fetch that was interrupted. It returns nil when there is nothing to go on with: no
// word was left, its file is gone, the source has changed or cannot tell, or what came of it is
// not what was announced. Then it has to start again, and nothing is left of the other.
func (j *Job) resume(ctx context.Context) (*Staged, error) {
	if j.Partials == nil || j.Request.Offset > 0 || j.Request.Length >= 0 || j.Size >= 0 && j.Size < j.Partials.least() {
		return nil, nil
	}
	path := j.Partials.word(j.Tree, j.Path)
	p := readPartial(path)
	if p == nil {
		return nil, nil
	}
	if p.Source != digest256(j.Request.URL) || j.tooBig(p.Size) != nil {
		dropPartial(path)
		return nil, nil
	}
	s, err := j.Tree.restage(j.Path, j.Inflight, j.Tag, p)
	if err != nil || s == nil {
		if err == nil {
			dropPartial(path)
		}
		return nil, err
	}
	s.marks = j.newMarks(s, p.Size, p.validator(), j.method())
	if s.marks == nil {
		s.Discard()
		return nil, nil
	}
	s.marks.p.Done, s.marks.last = p.Done, p.Done
	return j.goOn(ctx, s, p)
}

// goOn asks for the bytes behind those that are here.
func (j *Job) goOn(ctx context.Context, s *Staged, p *partial) (*Staged, error) {
	r := j.Request
	r.Offset, r.IfUnchanged = p.Done, p.validator()
	body, err := j.Source.Get(ctx, r)
	if err != nil {
		j.abandon(s, err)
		if class := transfer.ClassOf(err); class == transfer.Changed || class == transfer.Range {
			return nil, nil
		}
		return nil, err
	}
	defer body.Close()
	if !p.validator().Proves(body.Validator) || body.Size != p.Size-p.Done {
		s.Discard()
		return nil, nil
	}
	if j.Resuming != nil {
		j.Resuming(p.Done, p.Size)
	}
	if err := j.append(ctx, s, p, body); err != nil {
		j.abandon(s, err)
		return nil, err
	}
	s.Match = j.matches(s)
	if !s.Match {
		s.Discard()
		return nil, nil
	}
	s.Resumed, s.Validator = p.Done, body.Validator
	if err = j.steady(ctx, s, body.Validator); err == nil {
		err = j.finish(s)
	}
	if err != nil {
		s.Discard()
		return nil, err
	}
	return s, nil
}

// append adds the rest to what is staged.
func (j *Job) append(ctx context.Context, s *Staged, p *partial, body *transfer.Body) error {
	method := j.method()
	h, err := j.hashSoFar(ctx, s, p, method)
	if err != nil {
		return err
	}
	c := &copier{job: j, to: s.f, from: j.Pace.Reader(ctx, body), hash: h, n: p.Done, marks: s.marks}
	s.Size, s.Sum, err = c.copy(p.Size, method)
	return err
}

// hashSoFar is the hash of the bytes that are here, as it was left or made again; nil for the method "".
func (j *Job) hashSoFar(ctx context.Context, s *Staged, p *partial, method string) (hash.Hash, error) {
	h := post.NewHash(method)
	if h == nil {
		return nil, nil
	}
	if b, ok := h.(encoding.BinaryUnmarshaler); ok && p.Method == method && b.UnmarshalBinary(p.Hash) == nil {
		return h, nil
	}
	h.Reset()
	buf := largeBuffers.Get().(*[largeBuffer]byte)
	defer largeBuffers.Put(buf)
	from := cancelReader{io.NewSectionReader(s.f, 0, p.Done), ctx}
	_, err := io.CopyBuffer(struct{ io.Writer }{h}, from, buf[:])
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return h, j.Tree.failed("read", j.Path, err)
}

// abandon ends a fetch that failed: where the source or the way to it is the reason, the next try goes on
// from here. A full disk gets its room back.
func (j *Job) abandon(s *Staged, err error) {
	var here *Error
	class := transfer.ClassOf(err)
	if errors.As(err, &here) || errors.Is(err, errMixed) || class != transfer.Temporary && class != transfer.Cancelled {
		s.Discard()
		return
	}
	s.leave()
}

// leave closes a staged file from which the next try can go on, and discards any other.
func (s *Staged) leave() {
	if !s.marks.left() {
		s.Discard()
		return
	}
	s.marks = nil
	s.close()
}

// restage opens the temporary file of an interrupted fetch, cut to what is durable of it; nil when it is not that
// file any more.
func (t *Tree) restage(rel string, i Inflight, tag string, p *partial) (*Staged, error) {
	s, err := t.site(rel, i, tag)
	if err != nil {
		return nil, err
	}
	if s.tempRel() != string(p.Temp) || t.dir != string(p.Root) {
		s.close()
		return nil, nil
	}
	if s.f, err = s.openTemp(unix.O_RDWR); err != nil {
		s.close()
		return nil, nil
	}
	var st unix.Stat_t
	id, err := idOf(int(s.f.Fd()), "")
	if err == nil {
		err = unix.Fstat(int(s.f.Fd()), &st)
	}
	if err != nil || id != p.File || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink != 1 || st.Size < p.Done {
		s.close()
		return nil, nil
	}
	if !lock(s.tempDir, int(s.f.Fd()), s.temp) {
		s.close()
		return nil, t.failed("write", rel, errBusy)
	}
	s.named = true
	err = s.f.Truncate(p.Done)
	if err == nil {
		_, err = s.f.Seek(p.Done, io.SeekStart)
	}
	if err != nil {
		s.close()
		return nil, t.failed("write", rel, err)
	}
	return s, nil
}
