package post

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
)

// ErrDestination is a suggested destination that is no place below a
// directory: empty, or leaving it.
var ErrDestination = errors.New("destination outside the directory")

// BaseMode says how a srcpath without a trailing slash is read.
type BaseMode int

const (
	BaseAuto   BaseMode = iota // as sr_post(7) says, the joined URL as second choice
	BaseStatic                 // it is the complete URL (sr_post(7), THE FIRST LINE)
	BasePrefix                 // relpath is joined to it, as the living peers do
)

// A Retrieval says where to fetch an announced file and what it wants to be called.
type Retrieval struct {
	URL   string // percent-encoded; empty for a local file
	Local string // path on this host when srcpath is file:
	// Second is the URL to try when URL does not exist; only where srcpath is ambiguous.
	Second string
	// Path is the suggested destination: relative, clean, within the
	// receiver's directory. SecondPath goes with Second.
	Path, SecondPath string
}

// Retrieval resolves srcpath, relpath and the header rename (sr_post(7), THE
// FIRST LINE and "rename"). The error wraps ErrDestination when the suggested
// destination is refused.
func (a *Announcement) Retrieval(mode BaseMode) (Retrieval, error) {
	r, err := a.locate(mode)
	if err != nil {
		return Retrieval{}, err
	}
	source := r.URL
	if r.Local != "" {
		source = r.Local
	}
	if r.Path, err = a.destination(r.Path, baseName(source)); err != nil {
		return Retrieval{}, err
	}
	if r.Second != "" {
		if r.SecondPath, err = a.destination(r.SecondPath, baseName(r.Second)); err != nil {
			return Retrieval{}, err
		}
	}
	return r, nil
}

// locate finds the URL and the destination before rename.
func (a *Announcement) locate(mode BaseMode) (Retrieval, error) {
	s, rel, retrieve := a.Base, a.Path, a.Header(HeaderRetrievePath)
	if rest, ok := strings.CutPrefix(s, "file:"); ok {
		if retrieve != "" {
			return Retrieval{Local: localPath(rest, retrieve), Path: rel}, nil
		}
		return Retrieval{Local: localPath(rest, rel), Path: rel}, nil
	}
	u, err := url.Parse(escapePath(s))
	if err != nil || u.Scheme == "" || u.Host == "" {
		return Retrieval{}, fmt.Errorf("%w: srcpath %.80q is no URL", ErrMalformed, s)
	}
	if retrieve != "" {
		return Retrieval{URL: joinRetrieval(s, retrieve), Path: rel}, nil
	}
	joined := Retrieval{URL: joinURL(s, rel), Path: rel}
	if strings.HasSuffix(s, "/") || u.Path == "" || mode == BasePrefix {
		return joined, nil
	}
	static := Retrieval{URL: escapePath(s), Path: rel}
	switch {
	case strings.HasSuffix(rel, "/"), mode == BaseStatic, baseName(s) == path.Base(rel):
		return static, nil
	case strings.HasPrefix(rel, "/"):
		return joined, nil
	}
	static.Second, static.SecondPath = joined.URL, rel
	return static, nil
}

// localPath is the path of a file: announcement.
func localPath(base, rel string) string {
	if strings.HasPrefix(rel, "/") {
		return path.Clean(rel)
	}
	return path.Clean("/" + strings.TrimLeft(base, "/") + "/" + rel)
}

// joinURL joins the prefix s and rel with exactly one slash, or where the path is one from the root of a server,
// two; each element of rel is percent-encoded.
func joinURL(s, rel string) string {
	u := url.URL{Path: strings.TrimLeft(rel, "/")}
	slash := "/"
	if fromRoot(s, rel) {
		slash = "//"
	}
	return strings.TrimRight(escapePath(s), "/") + slash + strings.TrimPrefix(u.EscapedPath(), "./")
}

// fromRoot reports whether rel is a path from the root of an SFTP or FTP server, and not from the directory a login
// begins in: srcpath is the server, and either of the two says so (sr_post(7), the example of sr_watch).
func fromRoot(s, rel string) bool {
	scheme, rest, _ := strings.Cut(s, "://")
	switch strings.ToLower(scheme) {
	case "sftp", "ftp", "ftps":
		server, slashes, _ := strings.Cut(rest, "/")
		return server != "" && strings.Trim(slashes, "/") == "" && (slashes != "" || strings.HasPrefix(rel, "/"))
	}
	return false
}

// joinRetrieval joins the prefix s and a retrievePath, which may hold a query and is escaped as its
// sender wants it.
func joinRetrieval(s, retrieve string) string {
	return strings.TrimRight(escapePath(s), "/") + "/" + escapePath(strings.TrimLeft(retrieve, "/"))
}

// baseName is the file name a URL or path ends in, decoded where that leaves a
// name; "" when it ends in a slash or names only a host.
func baseName(source string) string {
	_, rest, isURL := strings.Cut(source, "://")
	if !isURL {
		return path.Base(source)
	}
	rest, _, _ = strings.Cut(rest, "?")
	i := strings.LastIndexByte(rest, '/')
	if i < 0 {
		return ""
	}
	name := rest[i+1:]
	if plain, err := url.PathUnescape(name); err == nil && !strings.ContainsAny(plain, "/\x00") {
		return plain
	}
	return name
}

// destination applies the header rename and takes the name from the source
// where only a directory is given.
func (a *Announcement) destination(rel, name string) (string, error) {
	if n := a.Header(HeaderRename); n != "" {
		rel = n
	}
	if strings.HasSuffix(rel, "/") {
		if name == "" {
			return "", fmt.Errorf("%w: %.80q has no file name", ErrDestination, rel)
		}
		rel += name
	}
	return Within(rel)
}

// Within cleans a slash-separated path and returns it relative, or
// ErrDestination when it names nothing or something outside.
func Within(rel string) (string, error) {
	c := path.Clean(strings.TrimLeft(rel, "/"))
	if c == "." || c == ".." || strings.HasPrefix(c, "../") || strings.IndexByte(c, 0) >= 0 {
		return "", fmt.Errorf("%w: %.80q", ErrDestination, rel)
	}
	return c, nil
}
