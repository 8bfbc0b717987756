package adopt

import (
	"encoding/json"
	"log/slog"
	"slices"
	"strings"

	"srpump/post"
)

// retryFiles returns what v02 has of the retry queues of all instances, in the
// order its lines count: what is replayed, what became of it, what failed
// since.
func retryFiles(dir string) []string {
	var files []string
	for _, ext := range []string{"heart", "work", "", "state", "new"} {
		files = append(files, matching(dir, strings.TrimSuffix("*.retry."+ext, "."))...)
	}
	return files
}

// readRetries reads lines of ["<topic>", {headers}, "<ts> <base> <relpath>"].
// One tagged done ends those of the same announcement before it.
func readRetries(files []string, log *slog.Logger) (list []*post.Announcement, err error) {
	at := make(map[string]int)
	for _, path := range files {
		err := lines(path, func(number int, line []byte) {
			a, done, err := readRetry(line)
			if err != nil {
				log.Warn("line not adopted", "file", path, "line", number, "error", err)
				return
			}
			key := a.Base + "\x00" + a.Path + "\x00" + a.Sum.String() + "\x00" + a.Block.String()
			if old, there := at[key]; there {
				list[old] = nil
			}
			delete(at, key)
			if !done {
				at[key] = len(list)
				list = append(list, a)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(list, func(a *post.Announcement) bool { return a == nil }), nil
}

func readRetry(line []byte) (a *post.Announcement, done bool, err error) {
	var topic, notice string
	headers := map[string]any{}
	if err := json.Unmarshal(line, &[]any{&topic, &headers, &notice}); err != nil {
		return nil, false, err
	}
	done = headers["_retry_tag_"] == "done"
	delete(headers, "_retry_tag_")
	a, err = post.DecodeV02(topic, headers, []byte(notice))
	return a, done, err
}
