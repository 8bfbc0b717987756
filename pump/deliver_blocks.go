package pump

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"srpump/partition"
	"srpump/post"
	"srpump/pump/blocks"
	"srpump/pump/config"
	"srpump/pump/send"
	"srpump/pump/transfer"
)

// A file announced in blocks that goes to another host is here, whole (sr_sender(1), To a server). Each
// block is verified by reading it and written down in a journal that has no temporary file; when all
// are, the file is sent once, as long as it still is the one they were read of.

// errAltered is a file that is no longer the one its blocks were verified of.
var errAltered = errors.New("it has changed since its blocks were verified")

// sourceID is what tells one state of a file of this host from others.
func sourceID(fi os.FileInfo) blocks.SourceID {
	id := blocks.SourceID{Size: fi.Size(), Mtime: fi.ModTime().UnixNano()}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		id.Inode = st.Ino
	}
	return id
}

// sourceNow is the state the local file of j is in, which must be one that could be cut as announced.
func (f *Flow) sourceNow(j *job) (id blocks.SourceID, err error) {
	url := transfer.FileURL(j.from.Local)
	body, err := f.sources.Get(f.life, transfer.Whole(url))
	if err != nil {
		return id, err
	}
	defer body.Close()
	fi, err := body.File.Stat()
	if err != nil {
		return id, transfer.Fail("get", url, transfer.Temporary, err)
	}
	if size := j.a.Block.FileSize(); fi.Size() != size {
		return id, fmt.Errorf("%w: %q has %d bytes, not %d", errMismatch, j.from.Local, fi.Size(), size)
	}
	return sourceID(fi), nil
}

// beginSent begins the journal of a file that goes to another host. The lock of a is held.
func (f *Flow) beginSent(j *job, a *assembly, file blocks.File) (err error) {
	if file.Source, err = f.sourceNow(j); err == nil {
		a.journal, err = f.assemblies.store.Create(a.full, file)
	}
	return err
}

// stillHere fails when the file is not the one that the blocks written down were verified of; the error
// wraps errAltered when it is another. The lock of a is held.
func (f *Flow) stillHere(j *job, a *assembly) error {
	now, err := f.sourceNow(j)
	if err == nil && now != a.journal.File().Source {
		err = errAltered
	}
	return err
}

// verifyHere reads a block, and fails unless it is what was announced.
func (f *Flow) verifyHere(ctx context.Context, j *job, log *blocks.Journal) (sum post.Fingerprint, err error) {
	b, want := j.a.Block, request(j)
	body, err := f.sources.Get(ctx, want)
	if err != nil {
		return sum, err
	}
	defer body.Close()
	size := body.Size
	if j.a.Sum.Verifiable() || j.a.Sum.Method == post.SumLater {
		if sum, size, err = post.OfReader(j.a.Sum.HashMethod(), body, make([]byte, 256<<10)); err != nil {
			return sum, err
		}
	}
	fi, err := body.File.Stat()
	switch {
	case err != nil:
		return sum, transfer.Fail("get", want.URL, transfer.Temporary, err)
	case sourceID(fi) != log.File().Source:
		return sum, transfer.Fail("get", want.URL, transfer.Temporary, errAltered)
	case size != b.Length() || j.a.Sum.Verifiable() && !sum.Equal(j.a.Sum):
		return sum, fmt.Errorf("%w: block %d has %d bytes with sum %s, announced %d with %s", errMismatch, b.Number, size, sum, b.Length(), j.a.Sum)
	}
	return sum, nil
}

// sendAssembled sends a file all of whose blocks are written down, unless it was sent before, and goes on with it.
func (f *Flow) sendAssembled(ctx context.Context, j *job, a *assembly) {
	if !a.installed {
		if err := f.sendWhole(ctx, j, a); err != nil {
			a.failed()
			f.failed(ctx, j, err)
			f.assemblies.leave(a)
			return
		}
		a.setInstalled()
	}
	f.assembled(ctx, j, a)
}

// sendWhole sends the file whose blocks a has, and says so. A file that has changed is tried again soon: its
// blocks are verified anew then.
func (f *Flow) sendWhole(ctx context.Context, j *job, a *assembly) error {
	size, url := j.a.Block.FileSize(), f.plan.deliveredURL(j.at)
	if there, err := f.movedThere(ctx, j, url, size); err != nil {
		return err
	} else if there {
		f.Counters.Renamed.Add(1)
		f.host.Log.Info("renamed", "path", j.at.Full(), "bytes", size, "url", config.Redact(url), "sum", j.a.Sum)
		return f.reportSent(j, a, "renamed")
	}
	defer f.room.leave(f.going(j, size))
	file := f.sendJob(j, url)
	file.Request, file.Size, file.Sum = transfer.Whole(transfer.FileURL(j.from.Local)), size, post.Fingerprint{Method: post.SumNone}
	file.Is = func(fi os.FileInfo) bool { return sourceID(fi) == a.log().File().Source }
	file.Again = true // the try that left something may have been for an older version
	var sent send.Sent
	err := f.trying(ctx, j, func(bool) (err error) {
		sent, err = f.sender.Send(ctx, file)
		return err
	})
	if err != nil && transfer.ClassOf(err) == transfer.Changed {
		return transfer.Fail("get", file.Request.URL, transfer.Temporary, errAltered)
	}
	if err != nil {
		return err
	}
	f.tellUnset(url, sent)
	f.Counters.Fetched.Add(1)
	f.Counters.Bytes.Add(size)
	f.host.Log.Info("delivered", "path", j.from.Local, "bytes", size, "url", config.Redact(url), "blocks", j.a.Block.Count)
	return f.reportSent(j, a, "fetched")
}

// reportSent tells where the blocks of a file were announced that the file is at its destination.
func (f *Flow) reportSent(j *job, a *assembly, what string) error {
	if f.reports == nil {
		return nil
	}
	return a.log().Each(func(r blocks.Record) error {
		f.reportInstalled(&job{a: r.Came, sum: r.Sum, from: j.from, began: j.began}, what)
		return nil
	})
}

// spends notes for the option delete what the file was that was sent, or put together here of blocks of one file;
// what came as part files stays, as each of them is a file of its own there.
func (f *Flow) spends(j *job, a *assembly) {
	if f.plan.there == nil {
		j.spent, j.block = j.a.Block.Method == partition.Inplace, partition.WholeFile(j.a.Block.FileSize())
		return
	}
	from := a.log().File().Source
	j.spent, j.block = true, partition.WholeFile(from.Size)
	j.proof = transfer.Validator{ModTime: time.Unix(0, from.Mtime)}
}
