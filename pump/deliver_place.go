package pump

import (
	"context"
	"strings"
	"time"

	"srpump/post"
	"srpump/pump/config"
	"srpump/pump/send"
	"srpump/pump/transfer"
)

// sendsNatively reports whether files are delivered to URLs of a scheme, which is another host's,
// without a hook.
func sendsNatively(scheme string) bool {
	switch strings.ToLower(scheme) {
	case "sftp", "ftp", "ftps":
		return true
	}
	return false
}

// openSender makes what delivers to another host. Nothing is connected before the first file.
func (f *Flow) openSender() {
	if f.plan.there == nil {
		return
	}
	to, ok := f.sources[strings.ToLower(f.plan.there.Scheme)].(transfer.Writer)
	if !ok {
		return // hooks do
	}
	// Several hosts may run one configuration, whose state is at the same path of each.
	tag := f.host.Hostname + ":" + f.state
	f.sender = send.New(to, send.Options{
		Temporary: func(name string) (sub, temp string) { return f.plan.inflight.Name(name, tag) },
		DirMode:   f.dirMode(),
	})
}

// deliver does at the destination what j announces: steps 1 and 2 of the order of durability.
func (f *Flow) deliver(ctx context.Context, j *job) {
	url := f.plan.deliveredURL(j.at)
	switch {
	case j.a.Sum.IsRemoval():
		f.removeThere(ctx, j, url)
	case j.a.Sum.IsLink():
		f.linkThere(ctx, j, url)
	case j.a.Sum.Method == post.SumMkdir:
		f.changedThere(ctx, j, "made", f.trying(ctx, j, func(bool) error { return f.sender.Mkdir(ctx, url) }))
	case f.assembles(j.a):
		f.fetchBlock(ctx, j, nil)
	default:
		f.sendThere(ctx, j, url)
	}
}

// trying does something, at once again after trouble that may pass; it is told whether an earlier try
// may have left something.
func (f *Flow) trying(ctx context.Context, j *job, do func(again bool) error) (err error) {
	tries := f.cfg.Values.Int("attempts")
	if f.jobs.entry(j) != nil {
		tries = 1
	}
	for try := range tries {
		if try > 0 && !pause(ctx, time.Duration(try)*100*time.Millisecond) {
			return ctx.Err()
		}
		if err = do(j.again || try > 0); err == nil || !passing(err) {
			break
		}
	}
	return err
}

// sendThere delivers a whole file, or one block as a part file.
func (f *Flow) sendThere(ctx context.Context, j *job, url string) {
	if there, err := f.movedThere(ctx, j, url, j.a.Size()); err != nil {
		f.failed(ctx, j, err)
		return
	} else if there {
		j.sum, j.block = j.a.Sum, j.a.Block
		f.changedThere(ctx, j, "renamed", nil)
		return
	}
	defer f.room.leave(f.going(j, j.a.Size()))
	var sent send.Sent
	err := f.trying(ctx, j, func(again bool) (err error) {
		file := f.sendJob(j, url)
		file.Again = again
		sent, err = f.sender.Send(ctx, file)
		return err
	})
	if err != nil {
		f.failed(ctx, j, err)
		return
	}
	f.tellUnset(url, sent)
	j.sum, j.spent, j.proof = j.a.Sum.Announced(sent.Sum), true, sent.Validator
	f.delivered(ctx, j, sent.Size)
}

// tellUnset says what a server does not set.
func (f *Flow) tellUnset(url string, sent send.Sent) {
	if sent.Unset != nil {
		f.host.Log.Warn("attributes not set", "url", config.Redact(url), "error", sent.Unset)
	}
}

// sendJob is the file of j for a Sender.
func (f *Flow) sendJob(j *job, url string) send.File {
	file := send.File{Source: f.sources, Request: request(j), URL: url, Size: j.a.Size(), Sum: j.a.Sum,
		Mode: f.mode(j.a), Moved: &f.Counters.Moved}
	if j.ongoing != nil {
		file.There = &j.ongoing.here
	}
	if f.pace != nil {
		file.Paced = f.pace.Reader
	}
	if f.cfg.Values.Bool("preserve_time") {
		file.ModTime = j.a.Mtime().Time()
	}
	return file
}

// movedThere reports whether a file that was moved is at its new name already, because the removal of the
// old one took it there. Where size and time do not prove it, the file is sent.
func (f *Flow) movedThere(ctx context.Context, j *job, url string, size int64) (bool, error) {
	if j.a.Header(post.HeaderOldname) == "" || !f.cfg.Values.Bool("preserve_time") || !j.a.HasBlock() {
		return false, nil
	}
	return f.sender.Has(ctx, url, size, j.a.Mtime().Time())
}

// removeThere takes a name away at the destination, and gives what bore it the new one where it has one
// there that is free: the other half of the move, which follows, sees to it that the right file
// bears it.
func (f *Flow) removeThere(ctx context.Context, j *job, url string) {
	moved := false
	err := f.trying(ctx, j, func(bool) (err error) {
		if j.other != (Place{}) {
			moved, err = f.sender.Move(ctx, url, f.plan.deliveredURL(j.other))
		}
		if err != nil || moved {
			return err
		}
		return f.sender.Remove(ctx, url)
	})
	what := "removed"
	if moved {
		what = "moved"
	}
	f.changedThere(ctx, j, what, err)
}

func (f *Flow) linkThere(ctx context.Context, j *job, url string) {
	text := j.a.Header(post.HeaderLink)
	if text == "" {
		f.giveUp(j, errLinkless)
		return
	}
	f.changedThere(ctx, j, "linked", f.trying(ctx, j, func(bool) error { return f.sender.Link(ctx, text, url) }))
}

// changedThere goes on with what is changed at the destination, and is no file that was sent.
func (f *Flow) changedThere(ctx context.Context, j *job, what string, err error) {
	if err != nil {
		f.failed(ctx, j, err)
		return
	}
	f.received(j)
	switch what {
	case "removed":
		f.Counters.Removed.Add(1)
	case "moved", "renamed":
		f.Counters.Renamed.Add(1)
	case "linked":
		f.Counters.Linked.Add(1)
	}
	f.host.Log.Info(what, "path", j.at.Full(), "bytes", j.block.Length(), "url", config.Redact(f.plan.deliveredURL(j.at)), "sum", j.sum)
	f.reportInstalled(j, what)
	f.onward(ctx, j, false)
}
