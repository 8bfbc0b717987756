package pump

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"

	"srpump/pump/config"
)

// errNoURL is a destination that cannot be read; what is wrong with it may be a secret.
var errNoURL = errors.New("destination is not a URL")

// errMixedDirectories is a configuration whose directories are of two kinds.
var errMixedDirectories = errors.New("directory is absolute in one place and not in another: give the destination a path, such as // for the root of the server")

// serverURL is the destination of a configuration, a server that lists and writes. As with v02, where it has no
// path the directories of the configuration are the whole paths: from the root of the server, which two slashes
// say, where they begin with one, else from the directory a login begins in, which SFTP calls ~.
func serverURL(c *config.Config, raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errNoURL
	}
	if !sendsNatively(u.Scheme) || u.Path != "" && u.Path != "/" {
		return u, nil
	}
	dirs := []string{c.Final.Directory}
	if !c.AcceptsUnmatched() {
		dirs = nil
	}
	for _, r := range c.Rules {
		if r.Accept {
			dirs = append(dirs, r.Directory)
		}
	}
	whole := 0
	for _, d := range dirs {
		if strings.HasPrefix(d, "/") {
			whole++
		}
	}
	switch whole {
	case 0:
		if strings.EqualFold(u.Scheme, "sftp") {
			u.Path, u.RawPath = "/~", ""
		}
	case len(dirs):
		u.Path, u.RawPath = "//", ""
	default:
		return nil, fmt.Errorf("cannot use %q: %w", config.Redact(raw), errMixedDirectories)
	}
	return u, nil
}

// serverPath is a path of a server below a clean one that begins with a slash, as the URL of a destination
// has it.
func serverPath(destination *url.URL, below string) string {
	if strings.HasPrefix(destination.Path, "//") {
		return "/" + below
	}
	return below
}

// destinationBase is the srcpath of what is delivered or polled when post_base_url does not tell: the
// destination without its password.
func destinationBase(u *url.URL) string {
	v := *u
	if v.User != nil {
		v.User = url.User(v.User.Username())
	}
	v.RawQuery, v.Fragment = "", ""
	if sendsNatively(v.Scheme) {
		v.Path, v.RawPath = strings.TrimSuffix(serverPath(u, path.Clean("/"+v.Path)), "/")+"/", ""
		return v.String()
	}
	return strings.TrimRight(v.String(), "/") + "/"
}
