package hook

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// headerOwnership is owner:group of a file where it was announced.
const headerOwnership = "ownership"

// A chown announces owners, and gives received files to them.
type chown struct {
	env Env
	to  map[string]string // announced owner:group to the one here; nil where names are the same
}

func newChown(env Env) (Hook, error) {
	c := &chown{env: env}
	path := env.Own.String("mapping_file")
	if path == "" {
		return c, nil
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(env.Dir, path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read %q: %w", path, plain(err))
	}
	c.to = make(map[string]string)
	for n, line := range strings.Split(string(text), "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) != 2 {
			return nil, fmt.Errorf("%s:%d: a line is two words, each owner:group", path, n+1)
		}
		c.to[words[0]] = words[1]
	}
	return c, nil
}

// Run announces the owner of a file, or gives it to the one announced. Neither holds anything up.
func (c *chown) Run(_ context.Context, e *Event) (bool, error) {
	if e.Point == OnPost {
		c.announce(e)
		return true, nil
	}
	if said := e.Announcement.Header(headerOwnership); said != "" {
		if err := c.give(e.Local, said); err != nil {
			c.env.Log.Warn("owner not changed", "path", e.Local, "ownership", said, "error", err)
		}
	}
	return true, nil
}

// Close implements Hook.
func (c *chown) Close() error { return nil }

func (c *chown) announce(e *Event) {
	fi, err := os.Lstat(e.Local)
	if e.Local == "" || err != nil {
		return
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	owner, group := strconv.Itoa(int(st.Uid)), strconv.Itoa(int(st.Gid))
	if u, err := user.LookupId(owner); err == nil {
		owner = u.Username
	}
	if g, err := user.LookupGroupId(group); err == nil {
		group = g.Name
	}
	e.Announcement.SetHeader(headerOwnership, owner+":"+group)
}

// give changes the owner. To root only what the administrator wrote down is given: an announcement says
// what it likes.
func (c *chown) give(path, said string) error {
	if c.to != nil {
		mapped, ok := c.to[said]
		if !ok {
			return errors.New("mapping_file has no line for it")
		}
		said = mapped
	}
	owner, group, _ := strings.Cut(said, ":")
	u, err := user.Lookup(owner)
	if err != nil {
		return err
	}
	g, err := user.LookupGroup(group)
	if err != nil {
		return err
	}
	if c.to == nil && (u.Uid == "0" || g.Gid == "0") {
		return errors.New("only a mapping_file gives files to root")
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return err
	}
	gid, err := strconv.Atoi(g.Gid)
	if err != nil {
		return err
	}
	return plain(os.Lchown(path, uid, gid))
}
