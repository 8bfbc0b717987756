package pump

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"srpump/post"
	"srpump/pump/config"
)

// places looks at the directories a configuration reads and writes.
func (k *check) places() {
	v := k.c.Values
	if k.c.Preset&posts != 0 {
		k.paths()
		k.fetchable()
		return
	}
	k.writable(k.c.StateRoot, "state_dir", "cannot keep state")
	if _, there, _ := destinationRoot(k.c); v.Bool("notify_only") || there != nil {
		return
	}
	option := "directory"
	if k.c.Preset == config.Sender {
		option = "destination"
	}
	seen := make(map[string]bool)
	for _, r := range append(k.accepts(), config.Rule{Accept: k.c.AcceptsUnmatched(), Capture: k.c.Final}) {
		root, _ := k.placement().split(r.Capture.Directory)
		if !r.Accept || seen[root] {
			continue
		}
		seen[root] = true
		k.writable(root, option, "cannot place files")
		k.announcable(root)
	}
	if v.Set("post_broker") && !v.Bool("mirror") && v.String("flatten") == "/" && !v.Set("filename") {
		k.warnOption("mirror", "mirror is off: files of one name in several directories are announced as one", "set mirror on")
	}
}

// fetchable warns of URLs that lead others to a file of their own host.
func (k *check) fetchable() {
	e, err := k.h.endpoint(k.c, "post_broker", true)
	u := k.c.Values.String("post_base_url")
	if err != nil || e.isLocal() || e.isPipe() || !strings.HasPrefix(u, post.LocalBase) {
		return
	}
	k.warnOption("post_base_url", fmt.Sprintf("post_base_url %s can be fetched from this host alone", u),
		"others need a URL such as http://this.host/; who reads it here sets base_dir")
}

func (k *check) accepts() (out []config.Rule) {
	for _, r := range k.c.Rules {
		if r.Accept {
			out = append(out, r)
		}
	}
	return out
}

func (k *check) placement() *Placement {
	root := ""
	if k.c.Preset == config.Sender {
		root, _, _ = destinationRoot(k.c) // what is wrong with it, the start says
	}
	return &Placement{Root: root, Cwd: k.h.Cwd, BaseDir: k.c.Values.String("base_dir"), PostDir: k.c.Values.String("post_base_dir"), Now: k.h.Now}
}

// announcable warns of copies that are put where the URL they are announced with does not lead.
func (k *check) announcable(root string) {
	v := k.c.Values
	base := v.String("post_base_dir")
	posting := v.Set("post_broker") || k.c.Preset == config.Sarra
	replaced := v.Set("stage") && !v.Bool("stage_keep") // by what a filter makes, which is below post_base_dir
	if !posting || replaced || base == "" || strings.Contains(base, "${") || within(base, root) {
		return
	}
	k.warnOption("post_base_dir", fmt.Sprintf("post_base_dir %q is not above the directory %q", base, root),
		"copies are announced with their whole path, which is not below post_base_url")
}

// paths looks at what a poster announces.
func (k *check) paths() {
	v := k.c.Values
	base := v.String("post_base_dir")
	if info, err := os.Stat(base); base != "" && (err != nil || !info.IsDir()) {
		k.warnOption("post_base_dir", fmt.Sprintf("post_base_dir %q is no directory", base), "")
	}
	for _, p := range v.List("path") {
		if p == "-" || k.c.Preset == config.Poll {
			continue
		}
		if !filepath.IsAbs(p) {
			p = filepath.Join(k.h.Cwd, p)
		}
		if _, err := os.Lstat(p); err != nil {
			k.warnOption("path", fmt.Sprintf("path %q does not exist", p), "")
		} else if base != "" && !within(base, p) {
			k.warnOption("path", fmt.Sprintf("path %q is not below post_base_dir %q", p, base), "it is announced as a whole path, which is not below post_base_url")
		}
	}
}

// within reports whether path is dir or below it.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

// writable warns when a directory cannot be written, or not be made.
func (k *check) writable(dir, option, why string) {
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil && at != filepath.Dir(at) {
			continue
		}
		switch {
		case err != nil:
			k.warnOption(option, fmt.Sprintf("%s: %q cannot be looked at", why, dir), "")
		case !info.IsDir():
			k.warnOption(option, fmt.Sprintf("%s: %q is no directory", why, at), "")
		case unix.Access(at, unix.W_OK|unix.X_OK) != nil && at == dir:
			k.warnOption(option, fmt.Sprintf("%s: %q may not be written by this user", why, dir), "")
		case unix.Access(at, unix.W_OK|unix.X_OK) != nil:
			k.warnOption(option, fmt.Sprintf("%s: %q does not exist, and %q may not be written by this user", why, dir, at), "make it, or let this user write there")
		}
		return
	}
}
