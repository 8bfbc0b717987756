package pump

import (
	"context"
	"errors"
	"strings"

	"srpump/post"
	"srpump/pump/broker"
	"srpump/pump/config"
)

// repost announces the copy, where the flow posts (step 3 of the order of durability).
func (f *Flow) repost(ctx context.Context, j *job) {
	if f.stage.takes(j) {
		f.stage.give(ctx, j, j.at.Full())
		return
	}
	if f.announce == nil || f.stage != nil && !f.stage.keep {
		f.finished(j)
		return
	}
	a := f.copied(j)
	if a.Content == nil && j.wrote {
		f.inline.attach(a, j.at.Full())
	}
	f.send(ctx, j, a)
}

// copied is the announcement of the copy j made.
func (f *Flow) copied(j *job) *post.Announcement {
	a := j.a.Clone()
	a.Sum, a.Block = j.sum, j.block
	if !j.carried {
		a.Content = nil
	}
	full := j.at.Full()
	a.Base, a.Path = f.plan.baseURL, relativeTo(f.plan.postDir, full)
	if a.Base == post.LocalBase {
		a.Path = full
	}
	a.SetHeader(post.HeaderRename, "")
	a.SetHeader(post.HeaderRetrievePath, "")
	f.renamedOn(a, j)
	a.Topic = post.MakeTopic(f.plan.prefix, relativeTo(f.plan.postDir, full), f.cfg.Values.Bool("post_topic_filename"))
	return a
}

// relativeTo takes dir off the front of path, at a whole component.
func relativeTo(dir, path string) string {
	if dir == "/" {
		return strings.TrimPrefix(path, dir)
	}
	m := post.Maker{BaseDir: dir}
	return m.Rel(path)
}

// forward passes an announcement on, unchanged but for what routing needs.
func (f *Flow) forward(ctx context.Context, j *job) {
	if f.cfg.Preset == config.Report && !f.showReport(j) {
		return
	}
	if f.announce == nil || f.stage != nil && !f.stage.keep {
		f.end(j, done)
		return
	}
	f.send(ctx, j, f.passedOn(j.a))
}

// passedOn is an announcement as it is passed on: unchanged but for what routing needs.
func (f *Flow) passedOn(a *post.Announcement) *post.Announcement {
	a = a.Clone()
	a.Topic = f.topicOn(a.Topic)
	return a
}

// topicOn is a topic as it is passed on. Where post_topic_prefix is set, it also takes the place of the
// beginning that either version has of its own: a queue may hold both.
func (f *Flow) topicOn(topic string) string {
	from := []string{post.PrefixRead(f.cfg.Values.String("topic_prefix"))}
	if f.cfg.Values.Set("post_topic_prefix") {
		from = append(from, post.DefaultPrefix, post.DefaultPrefixV03)
	}
	for _, prefix := range from {
		if to := post.Reprefix(topic, prefix, f.plan.prefix); to != topic {
			return to
		}
	}
	return topic
}

// send publishes a for j.
func (f *Flow) send(ctx context.Context, j *job, a *post.Announcement) {
	f.dress(a)
	if !f.onPost(ctx, j, a) {
		return
	}
	err := f.announce.send(ctx, a, func(err error) { f.confirmed(j, err) })
	if err != nil && ctx.Err() == nil && !errors.Is(err, broker.ErrClosed) {
		f.giveUp(j, err)
	}
}

// dress gives an announcement its headers: those that say where it comes from and where it goes are
// filled in where they are missing; those configured are added or taken off.
func (f *Flow) dress(a *post.Announcement) {
	fill := func(name, value string) {
		if a.Header(name) == "" && value != "" && a.Headers[name] == nil {
			a.SetHeader(name, value)
		}
	}
	if a.Report == nil { // who reports is not where the file comes from
		f.fillOrigin(fill)
	}
	for k, value := range f.plan.headers {
		fill(k, value)
	}
	for k := range f.plan.drop {
		delete(a.Headers, k)
	}
}

// fillOrigin gives the headers that say where an announcement comes from and where it goes.
func (f *Flow) fillOrigin(fill func(name, value string)) {
	v := f.cfg.Values
	fill(post.HeaderSource, v.String("source"))
	fill(post.HeaderSource, f.plan.from.user)
	fill(post.HeaderFromCluster, v.String("cluster"))
	fill(post.HeaderFromCluster, f.plan.from.host())
	fill(post.HeaderToClusters, strings.Join(v.List("to"), ","))
	fill(post.HeaderToClusters, f.plan.to.host())
}

// confirmed: the broker has the new announcement. What it did not take is
// still unacknowledged, or on disk, and comes again.
func (f *Flow) confirmed(j *job, err error) {
	switch {
	case err == nil:
		f.report(j, codeDone, "Published")
		f.finished(j)
	case errors.Is(err, broker.ErrClosed):
	case errors.Is(err, broker.ErrMessage), errors.Is(err, broker.ErrPrecondition):
		f.giveUp(j, err) // this one can never be announced; the next may
	default:
		f.fail(err)
	}
}
