package pump

import (
	"context"
	"log/slog"

	"srpump/post"
	"srpump/pump/hook"
	"srpump/pump/retry"
)

// LevelEach is what v02 logs at INFO of each announcement and a person in front of a terminal
// does not want to read: below INFO here, above DEBUG.
const LevelEach = slog.LevelInfo - 1

// OldLineKey is the key of a record that holds an OldLine. It is for logs in the form of v02,
// and left out of all others.
const OldLineKey = hook.OldLineKey

// An OldLine is what v02 logs of an event, in place of our phrase and its keys: lines operators
// search their logs for (sr_options(5), log_format).
type OldLine interface{ OldLine() string }

func oldLine(l OldLine) slog.Attr { return slog.Any(OldLineKey, l) }

// announcedLine is the line of the v02 hook post_log, which is in the words of v02 for other versions too.
type announcedLine struct {
	m post.Message
	a *post.Announcement
}

// OldLine implements OldLine.
func (l announcedLine) OldLine() string {
	m := l.m
	if post.IsV03(m.Topic) {
		if old, err := post.EncodeV02(l.a); err == nil {
			m = old
		}
	}
	return "post_log notice=" + retry.LogWords(m, l.a.Path)
}

// receivedLine is the line of the v02 hook msg_log.
type receivedLine struct{ a *post.Announcement }

// OldLine implements OldLine.
func (l receivedLine) OldLine() string {
	m, err := post.EncodeV02(l.a)
	if err != nil {
		return "msg_log received: " + string(retry.AppendPrintable(nil, l.a.Text()))
	}
	return "msg_log received: " + retry.LogWords(m, l.a.Path)
}

// downloadedLine is the line of the v02 hook file_log: where the file is now.
type downloadedLine string

// OldLine implements OldLine.
func (l downloadedLine) OldLine() string { return "file_log downloaded to: " + string(l) }

// rejectedLine says what was turned away and by which line of the configuration.
type rejectedLine struct{ path, rule string }

// OldLine implements OldLine.
func (l rejectedLine) OldLine() string {
	if l.rule == "" {
		return "rejected: " + l.path
	}
	return "rejected: " + l.path + " rule=" + l.rule
}

// logAnnounced says that the broker has a, which m is the message of.
func logAnnounced(log *slog.Logger, a *post.Announcement, m post.Message) {
	ctx := context.Background()
	if log.Enabled(ctx, LevelEach) {
		log.Log(ctx, LevelEach, "announced", "topic", a.Topic, "path", a.Path, "sum", a.Sum, "base", shownURL(a.Base), "announced", a.Time, "parts", a.Block,
			oldLine(announcedLine{m, a}))
	}
}
