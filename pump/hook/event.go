package hook

import (
	"fmt"
	"path"
	"strings"

	"srpump/post"
)

// An Event is one thing that happened at a point. Which fields there are depends on the point
// (sr_hooks(7), THE EVENT). Event, Local and URL are not changed by hooks.
type Event struct {
	Point        string
	Announcement *post.Announcement // the hook's own copy; nil where there is none, as in on_start

	// Root is the directory below which the file goes; only a built-in hook may choose another.
	// Dir is absolute, below Root, and File one name in it.
	Root, Dir, File string

	Local string // absolute path of a file that is there
	URL   string // what is fetched, delivered or looked at
	Text  string // a line or a page; a hook may change it
}

// check refuses what no announcement from the wire could ask for either, after a hook has changed
// an event that was as before.
func (e *Event) check(before *Event) error {
	if e.Announcement != nil && before.Announcement != nil {
		if err := checkAnnouncement(e.Announcement, before.Announcement); err != nil {
			return err
		}
	}
	if e.File != before.File && !plainName(e.File) {
		return fmt.Errorf("%w: new_file %.80q is not the name of a file", ErrAnswer, e.File)
	}
	if e.Dir != before.Dir || e.Root != before.Root {
		return e.checkDir()
	}
	return nil
}

// checkDir keeps the directory below its root; a relative one is below it.
func (e *Event) checkDir() error {
	if !path.IsAbs(e.Dir) {
		e.Dir = path.Join(e.Root, "/", e.Dir)
	}
	if e.Root == "" || strings.IndexByte(e.Dir, 0) >= 0 || climbs(e.Dir) || !below(e.Root, path.Clean(e.Dir)) {
		return fmt.Errorf("%w: new_dir %.80q is not below %q", ErrAnswer, e.Dir, e.Root)
	}
	e.Dir = path.Clean(e.Dir)
	return nil
}

func below(root, dir string) bool {
	return root == "/" || dir == root || strings.HasPrefix(dir, strings.TrimRight(root, "/")+"/")
}

func climbs(dir string) bool {
	for elem := range strings.SplitSeq(dir, "/") {
		if elem == ".." {
			return true
		}
	}
	return false
}

func plainName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\x00")
}

// checkAnnouncement holds what a hook changed to what a peer may send (sr_post(7)).
func checkAnnouncement(now, before *post.Announcement) error {
	switch {
	case now.Path == "" || strings.IndexByte(now.Path, 0) >= 0:
		return fmt.Errorf("%w: relpath %.80q", ErrAnswer, now.Path)
	case now.Path != before.Path && climbs(now.Path):
		return fmt.Errorf("%w: relpath %.80q climbs", ErrAnswer, now.Path)
	case now.Base == "" || now.Base != before.Base && strings.ContainsAny(now.Base, " \t\r\n\x00"):
		return fmt.Errorf("%w: baseurl %.80q", ErrAnswer, now.Base)
	case now.Topic != before.Topic && !plainTopic(now.Topic):
		return fmt.Errorf("%w: topic %.80q", ErrAnswer, now.Topic)
	}
	return checkHeaders(now, before)
}

// maxTopic is the length of an AMQP short string.
const maxTopic = 255

func plainTopic(topic string) bool {
	return topic != "" && len(topic) <= maxTopic && !strings.ContainsFunc(topic, func(r rune) bool { return r < ' ' || r == 0x7f })
}

func checkHeaders(now, before *post.Announcement) error {
	for name, value := range now.Headers {
		text, isText := value.(string)
		switch {
		case !isText || before.Headers[name] == value:
		case name == "" || len(name) > maxTopic || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f }):
			return fmt.Errorf("%w: header %.80q", ErrAnswer, name)
		case len(text) > post.MaxHeader:
			return fmt.Errorf("%w: header %.80q of %d bytes, at most %d have room", ErrAnswer, name, len(text), post.MaxHeader)
		}
	}
	return nil
}

// clone is e with an announcement of its own.
func (e *Event) clone() *Event {
	c := *e
	if e.Announcement != nil {
		c.Announcement = e.Announcement.Clone()
	}
	return &c
}
