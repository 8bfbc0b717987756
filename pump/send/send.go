package send

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"srpump/pump/transfer"
)

// Send delivers a file. When it returns without an error, the server has confirmed that the file is
// complete and bears its final name; with one, that name is untouched, unless the answer to
// the rename was lost. What it put under the temporary name is removed after a failure, where the
// server can still be asked. Failures are a *transfer.Error: of class Changed for a source that is not
// what was announced, or changes meanwhile.
func (s *Sender) Send(ctx context.Context, f File) (Sent, error) {
	t, err := s.target(f.URL)
	if err != nil {
		return Sent{}, err
	}
	from, err := f.open(ctx)
	if err != nil {
		return Sent{}, err
	}
	defer from.Close()
	for _, dir := range []string{t.dir, t.tempDir} {
		if err := s.Mkdir(ctx, dir); err != nil {
			return Sent{}, err
		}
	}
	out, err := s.complete(ctx, f, t, from)
	if err == nil {
		err = s.to.Rename(ctx, t.tempURL, t.url)
	}
	if err != nil {
		s.dirs.forget()
		s.discard(ctx, t.tempURL)
		return Sent{}, err
	}
	return out, nil
}

// complete puts the file under its temporary name, verified and with its attributes.
func (s *Sender) complete(ctx context.Context, f File, t target, from *source) (out Sent, err error) {
	if f.Again {
		if err := s.Remove(ctx, t.tempURL); err != nil {
			return out, err
		}
	}
	taken, err := s.to.Put(ctx, transfer.Put{URL: t.tempURL, From: from.r, Size: from.expected(&f), Mode: f.private()})
	if err != nil {
		return out, err
	}
	if out.Sum, err = from.verify(&f); err != nil {
		return out, err
	}
	out.Size, out.Validator = from.r.n, from.Validator
	if taken != out.Size {
		return out, short(t.tempURL, taken, out.Size)
	}
	if err := s.confirm(ctx, t.tempURL, out.Size); err != nil {
		return out, err
	}
	out.Unset, err = s.set(ctx, t.tempURL, transfer.Attributes{Mode: f.Mode.Perm(), ModTime: f.ModTime})
	return out, err
}

func short(url string, has, want int64) error {
	return transfer.Fail("put", url, transfer.Temporary, fmt.Errorf("the server has %d bytes of %d", has, want))
}

// confirm asks the server for the size of what it was given, where it tells sizes.
func (s *Sender) confirm(ctx context.Context, url string, size int64) error {
	if s.look == nil {
		return nil
	}
	e, err := s.look.Stat(ctx, url)
	switch {
	case transfer.ClassOf(err) == transfer.Unsupported && err != nil:
		return nil
	case err != nil:
		return err
	case e.Size >= 0 && !e.Rough && e.Size != size:
		return short(url, e.Size, size)
	}
	return nil
}

// set gives the file its attributes, as far as the server does that: what it refuses it is not asked
// for again.
func (s *Sender) set(ctx context.Context, url string, a transfer.Attributes) (unset, err error) {
	if s.noMode.Load() {
		a.Mode = 0
	}
	if s.noTime.Load() {
		a.ModTime = time.Time{}
	}
	if a == (transfer.Attributes{}) {
		return nil, nil
	}
	if err = s.to.Set(ctx, url, a); err == nil || !refused(err) {
		return nil, err
	}
	for _, one := range []struct {
		transfer.Attributes
		off *atomic.Bool
	}{{transfer.Attributes{Mode: a.Mode}, &s.noMode}, {transfer.Attributes{ModTime: a.ModTime}, &s.noTime}} {
		if one.Attributes == (transfer.Attributes{}) {
			continue
		}
		switch err := s.to.Set(ctx, url, one.Attributes); {
		case err == nil:
		case !refused(err):
			return nil, err
		case !one.off.Swap(true):
			unset = err
		}
	}
	return unset, nil
}

// refused reports whether a server does not do a thing, or not for us.
func refused(err error) bool {
	if err == nil {
		return false
	}
	c := transfer.ClassOf(err)
	return c == transfer.Unsupported || c == transfer.Forbidden
}

// discardTime is how long a server may take to remove what a failure left; it may be the server
// that fails, and what is left is replaced by the next try.
const discardTime = 2 * time.Second

func (s *Sender) discard(ctx context.Context, url string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardTime)
	defer cancel()
	_ = s.to.Remove(ctx, url)
}
