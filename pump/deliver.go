package pump

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"srpump/post"
	"srpump/pump/config"
)

// errNoDestination is a sr_sender that is not told where to deliver.
var errNoDestination = errors.New("cannot deliver: destination is not set; it is where files go, such as file:///directory")

// destinationRoot is the directory a sr_sender delivers below: the path of its destination,
// file:///directory, or of one that is no directory of this host, which is then returned too.
func destinationRoot(c *config.Config) (root string, there *url.URL, err error) {
	raw := c.Values.String("destination")
	if raw == "" {
		return "", nil, errNoDestination
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme == "" {
		return "", nil, fmt.Errorf("cannot deliver to %q: it is no URL", config.Redact(raw))
	}
	if u, err = serverURL(c, raw); err != nil {
		return "", nil, err
	}
	native := u.Scheme == "file" && (u.Host == "" || u.Host == "localhost")
	switch {
	case u.Opaque == "" && hooksDeliver(c, u.Scheme, native):
		return path.Clean("/" + u.Path), u, nil
	case sendsNatively(u.Scheme) && u.Host != "":
		if _, err := c.Credentials.Lookup(raw); err != nil {
			return "", nil, fmt.Errorf("cannot deliver: %w", err)
		}
		return path.Clean("/" + u.Path), u, nil
	case sendsNatively(u.Scheme):
		return "", nil, fmt.Errorf("cannot deliver to %q: it names no host: write %s:// and the host", config.Redact(raw), u.Scheme)
	case u.Scheme == "file" && !native:
		return "", nil, fmt.Errorf("cannot deliver to %q: %q would be a host; a directory of this host is file:// and its whole path, with three slashes", config.Redact(raw), u.Host)
	case !native:
		return "", nil, fmt.Errorf("cannot deliver to %q: its scheme is none of sftp, ftp, ftps and file, nor one of do_send", config.Redact(raw))
	}
	if !filepath.IsAbs(u.Path) {
		return "", nil, fmt.Errorf("cannot deliver to %q: its path is not absolute", raw)
	}
	return filepath.Clean(u.Path), nil, nil
}

// delivers settles where a sr_sender puts files, and how it announces them there.
func (p *plan) delivers(c *config.Config) (err error) {
	if c.Preset != config.Sender {
		return nil
	}
	if err := p.simulates(c); err != nil {
		return err
	}
	if p.root, p.there, err = destinationRoot(c); err != nil {
		return err
	}
	if p.postDir == "" {
		p.postDir = p.root
	}
	if p.baseURL = c.Values.String("post_base_url"); p.there != nil && p.there.Scheme != "file" && p.baseURL == "" {
		p.baseURL = destinationBase(p.there)
	} else if p.baseURL == "" || strings.HasPrefix(p.baseURL, post.LocalBase) {
		p.baseURL = post.LocalBase
	}
	return err
}

// localCopy is the file of this host that an announcement is of: its path below base_dir,
// wherever it says others may fetch it (sr_sender(1)). One announced as a file of this host is
// where it says.
func (f *Flow) localCopy(a *post.Announcement, r post.Retrieval) (post.Retrieval, error) {
	local := post.Retrieval{Path: r.Path, Local: r.Local}
	if local.Local == "" {
		within, err := post.Within(a.Path)
		if err != nil {
			return r, err
		}
		local.Local = path.Join("/", filepath.ToSlash(f.cfg.Values.String("base_dir")), within)
	}
	return local, nil
}
