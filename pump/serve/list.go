package serve

import (
	"bufio"
	"fmt"
	"html"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// link is the address of a name in the same directory: percent-encoded, and
// never taken for a scheme.
func link(name string) string { return (&url.URL{Path: name}).String() }

// list writes a directory as Apache does, one line per name, which pollers of
// living pumps can read. Hidden names and what is not served are left out.
func (h *handler) list(w http.ResponseWriter, r *http.Request, dir *os.File) error {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if r.Method == http.MethodHead {
		return nil
	}
	title := html.EscapeString("Index of " + r.URL.Path)
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "<!DOCTYPE html>\n<html><head><title>%s</title></head><body>\n<h1>%s</h1>\n<pre><a href=\"../\">Parent Directory</a>\n", title, title)
	for {
		// In portions, so that a directory of a million names needs no room for all.
		entries, err := dir.ReadDir(1000)
		for _, e := range entries {
			listEntry(b, e)
		}
		if err != nil || len(entries) == 0 {
			break
		}
	}
	b.WriteString("</pre>\n</body></html>\n")
	return b.Flush()
}

func listEntry(b *bufio.Writer, e fs.DirEntry) {
	name := e.Name()
	fi, err := e.Info()
	if err != nil || strings.HasPrefix(name, ".") || !fi.IsDir() && !fi.Mode().IsRegular() {
		return
	}
	size := fmt.Sprint(fi.Size())
	if fi.IsDir() {
		name += "/"
		size = "-"
	}
	fmt.Fprintf(b, "<a href=\"%s\">%s</a>%*s %s %12s\n", html.EscapeString(link(name)), html.EscapeString(name),
		max(1, 50-len(name)), "", fi.ModTime().UTC().Format("2006-01-02 15:04"), size)
}
