package retry

import (
	"encoding/json"
	"log/slog"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"srpump/partition"
	"srpump/post"
)

// FromLog makes a message of a line of a log that tells of an announcement (sr_log2save(1)): of
// v02 the lines of post_log and msg_log, of ours
// those with the phrases of telling, as text or JSON.
// told says that the line is such a one; err, that it is damaged.
func FromLog(line string) (m post.Message, told bool, err error) {
	if _, rest, found := strings.Cut(line, "post_log notice="); found {
		m, err = fromWords(rest)
		return m, true, err
	}
	if _, rest, found := strings.Cut(line, "msg_log received: "); found {
		m, err = fromWords(rest)
		return m, true, err
	}
	if strings.HasPrefix(line, "{") {
		return fromJSON(line)
	}
	stamp, rest, _ := strings.Cut(line, " [")
	_, rest, _ = strings.Cut(rest, "] ")
	for _, phrase := range telling() {
		if keys, is := strings.CutPrefix(rest, phrase+" "); is {
			return fromKeys(strings.Map(onlyTime, stamp), logKeys(keys))
		}
	}
	return m, false, nil
}

// telling are our phrases that tell of an announcement.
func telling() []string { return []string{"announced", "fetched", "retry", "given up"} }

// fromJSON reads a line of a log that holds JSON objects.
func fromJSON(line string) (m post.Message, told bool, err error) {
	var all map[string]any
	if json.Unmarshal([]byte(line), &all) != nil {
		return m, false, nil
	}
	keys := make(map[string]string, len(all))
	for k, v := range all {
		if s, is := v.(string); is {
			keys[k] = s
		} else if n, is := v.(float64); is {
			keys[k] = strconv.FormatFloat(n, 'f', -1, 64)
		}
	}
	if !slices.Contains(telling(), keys[slog.MessageKey]) {
		return m, false, nil
	}
	at, err := time.Parse(time.RFC3339Nano, keys[slog.TimeKey])
	if err != nil {
		return m, true, err
	}
	return fromKeys(post.FormatTime(at), keys)
}

// fromWords reads "<ts> <srcpath> <relpath>" and, behind it, headers={...} as Python writes them, or
// words name=value.
func fromWords(text string) (m post.Message, err error) {
	notice, table, found := strings.Cut(text, "headers={")
	m.Headers = make(map[string]any)
	if found {
		if m.Headers, err = pythonDict("{" + table); err != nil {
			return m, err
		}
	}
	words := strings.Fields(notice)
	first := min(3, len(words))
	for _, w := range words[first:] {
		name, value, ok := strings.Cut(w, "=")
		switch {
		case !ok, name == "lag":
		case name == "topic":
			m.Topic = value
		default:
			m.Headers[name] = value
		}
	}
	if first == 3 {
		words[2] = unprinted(words[2], m.Headers)
	}
	m.Body = []byte(strings.Join(words[:first], " "))
	return complete(m)
}

// complete gives a message the topic its path makes, where it has none, and refuses one that is no
// announcement.
func complete(m post.Message) (post.Message, error) {
	headers := make(map[string]any, len(m.Headers))
	for k, v := range m.Headers {
		headers[k] = v
	}
	a, err := post.DecodeV02(m.Topic, headers, m.Body)
	if err == nil && m.Topic == "" {
		m.Topic = topicOf(a.Path)
	}
	return m, err
}

// fromKeys reads the keys of one of our lines; without a URL it tells of no announcement. What says
// no time was announced when it was logged.
func fromKeys(stamp string, keys map[string]string) (m post.Message, told bool, err error) {
	a := &post.Announcement{Topic: keys["topic"], Base: keys["base"], Path: keys["path"], Headers: map[string]any{}}
	if a.Base == "" {
		if a.Base, a.Path = splitURL(keys["url"]); a.Base == "" {
			return m, false, nil
		}
		a.Topic = ""
	}
	at := keys["announced"]
	if at == "" {
		at = stamp
	}
	if a.Time, err = post.ParseTimestamp(at); err != nil {
		return m, true, err
	}
	m, err = post.EncodeV02(a)
	if err != nil {
		return m, true, err
	}
	delete(m.Headers, post.HeaderSum)
	if keys["sum"] != "" {
		m.Headers[post.HeaderSum] = keys["sum"]
	}
	if b, bad := partition.Parse(keys["parts"]); bad == nil {
		m.Headers[post.HeaderParts] = b.String()
	} else if keys["bytes"] != "" {
		m.Headers[post.HeaderParts] = "1," + keys["bytes"] + ",1,0,0"
	}
	m, err = complete(m)
	return m, true, err
}

// onlyTime makes "2006-01-02 15:04:05,000" a date stamp.
func onlyTime(r rune) rune {
	switch {
	case r == ',':
		return '.'
	case r >= '0' && r <= '9':
		return r
	}
	return -1
}

// splitURL cuts a URL behind its host; a file of this host has the root for its host.
func splitURL(s string) (base, path string) {
	u, err := url.Parse(s)
	if s == "" || err != nil || u.Scheme == "" {
		return "", ""
	}
	path = strings.TrimPrefix(u.Path, "/")
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	if u.Scheme == "file" {
		return post.LocalBase, "/" + path
	}
	return u.Scheme + "://" + u.Host + "/", path
}

// logKeys reads name=value and name="quoted value".
func logKeys(text string) map[string]string {
	out := make(map[string]string)
	for text != "" {
		name, rest, ok := strings.Cut(strings.TrimLeft(text, " "), "=")
		if !ok {
			break
		}
		if quoted, err := strconv.QuotedPrefix(rest); err == nil && quoted[0] == '"' {
			out[name], _ = strconv.Unquote(quoted)
			text = rest[len(quoted):]
			continue
		}
		out[name], text, _ = strings.Cut(rest, " ")
	}
	return out
}
