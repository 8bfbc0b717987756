package post

import (
	"errors"
	"fmt"
	"slices"
)

// MaxHeader is the longest header value in bytes: a living peer copies each
// into 256 bytes without looking, another refuses from 253 on.
const MaxHeader = 252

// maxName is the longest name of a header: an AMQP short string.
const maxName = 255

// ErrTooLong is a name or value the v02 format has no room for.
var ErrTooLong = errors.New("too long for a header")

// The headers with a meaning here (sr_post(7), AMQP HEADERS).
const (
	HeaderSum         = "sum"
	HeaderParts       = "parts"
	HeaderSource      = "source"
	HeaderFromCluster = "from_cluster"
	HeaderToClusters  = "to_clusters"
	HeaderFlow        = "flow"
	HeaderRename      = "rename"
	HeaderOldname     = "oldname"
	HeaderNewname     = "newname"
	HeaderLink        = "link"
	HeaderHlink       = "hlink" // the name it is a hard link to
	HeaderMtime       = "mtime"
	HeaderAtime       = "atime"
	HeaderMode        = "mode"
	HeaderMessage     = "message"
)

// wireHeaders is the header table to send: text no longer than MaxHeader, other
// types as they came, nothing that belongs to this host alone. The names of what had to
// be left out are returned; a link that has no room is an error, for nothing could be
// made of the rest.
func (a *Announcement) wireHeaders() (map[string]any, []string, error) {
	out := make(map[string]any, len(a.Headers)+2)
	var dropped []string
	for k, v := range a.Headers {
		switch {
		case private(k) || isJSON(v):
		case len(k) <= maxName && len(text(v)) <= MaxHeader:
			out[k] = v
		case k == HeaderLink:
			return nil, nil, fmt.Errorf("%w: link of %d bytes", ErrTooLong, len(text(v)))
		default:
			dropped = append(dropped, k)
		}
	}
	slices.Sort(dropped)
	return out, dropped, nil
}

func isJSON(v any) bool {
	_, ok := v.(JSON)
	return ok
}

// private headers are those of other wire formats and of a retry file, and those a broker takes
// for its own: CC and BCC would send a stranger's announcement where the stranger likes.
func private(name string) bool {
	switch name {
	case "CC", "BCC", "content", "identity", "integrity", "size", "blocks", "fileOp", "pubTime", "baseUrl", "relPath", HeaderExactPath, HeaderSum, HeaderParts:
		return true
	}
	return len(name) > 7 && name[:7] == "_retry_"
}

// Mtime is the file's modification time, or the zero time when the header is missing or bad.
func (a *Announcement) Mtime() (t Timestamp) {
	t, _ = ParseTimestamp(a.Header(HeaderMtime))
	return t
}
