package pump

import (
	"fmt"

	"srpump/post"
	"srpump/pump/broker"
	"srpump/pump/transfer"
)

// appendURL writes what outlet url prints of an announcement: the URL its file is fetched
// from and a line feed. It is escaped, so that a line is one URL whatever the name holds. A
// removal prints the URL of what is gone.
func (e endpoint) appendURL(b []byte, p broker.Publishing) ([]byte, error) {
	from, err := e.retrieval(p)
	if err != nil {
		return nil, fmt.Errorf("cannot print %q as a URL: %w", p.Key, err)
	}
	u := from.URL
	if from.Local != "" {
		u = transfer.FileURL(from.Local)
	}
	return append(append(b, u...), '\n'), nil
}

// retrieval leaves out where the file is to go: nobody puts it there.
func (e endpoint) retrieval(p broker.Publishing) (post.Retrieval, error) {
	a, err := post.Decode(p.Key, p.Headers, p.Body)
	if err != nil {
		return post.Retrieval{}, err
	}
	a.SetHeader(post.HeaderRename, "")
	return a.Retrieval(e.mode)
}
