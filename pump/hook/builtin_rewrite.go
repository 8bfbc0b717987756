package hook

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"srpump/post"
)

// newOverwriteSum has the sum of a file computed by who fetches it, whatever was announced.
func newOverwriteSum(env Env) (Hook, error) {
	method := env.Own.String("msg_overwrite_sum")
	return changing(func(e *Event) {
		a := e.Announcement
		if !a.Sum.IsRemoval() && !a.Sum.IsLink() && a.Sum.Method != post.SumMkdir && a.Sum.Method != method {
			a.Sum = post.Fingerprint{Method: post.SumLater, Value: method}
		}
	}), nil
}

// newOverride sets headers and takes others off.
func newOverride(env Env) (Hook, error) {
	set := make(map[string]string)
	for _, line := range env.Own.List("post_override") {
		name, value, _ := strings.Cut(line, " ")
		if len(value) > post.MaxHeader {
			return nil, fmt.Errorf("option %q: value of %d bytes, at most %d have room", "post_override", len(value), post.MaxHeader)
		}
		set[name] = value
	}
	del := env.Own.List("post_override_del")
	for name := range set {
		del = append(del, name)
	}
	for _, fixed := range []string{post.HeaderSum, post.HeaderParts} {
		if slices.Contains(del, fixed) {
			return nil, fmt.Errorf("header %q is about the file, and not to be overridden", fixed)
		}
	}
	return step(func(_ context.Context, e *Event) (bool, error) {
		for _, name := range del {
			e.Announcement.SetHeader(name, set[name])
		}
		return true, nil
	}), nil
}

// hour is the hour an announcement was made, in UTC: the same at every try and at every pump.
func hour(a *post.Announcement) string { return a.Time.Time().Format("15") }

// newPostHourTree puts the hour before the name of what is announced.
func newPostHourTree(Env) (Hook, error) {
	return changing(func(e *Event) {
		dir, name := path.Split(e.Announcement.Path)
		movePath(e.Announcement, dir+hour(e.Announcement)+"/"+name)
	}), nil
}

// movePath gives an announcement another relpath, and a topic made of it where the old one was made
// of the old.
func movePath(a *post.Announcement, to string) {
	const mark = "x"
	for _, name := range []bool{true, false} {
		words := strings.TrimPrefix(post.MakeTopic(mark, a.Path, name), mark)
		if prefix, made := strings.CutSuffix(a.Topic, words); made && words != "" {
			a.Topic = post.MakeTopic(prefix, to, name)
			break
		}
	}
	a.Path = to
}
