package retry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"srpump/post"
)

// Lines of a save file are JSON arrays [pubtime, baseurl, relpath, {headers}], relpath as the file
// is called, or as older tools wrote them ["<topic>", {headers}, "<ts> <base> <relpath>"]. What four
// elements cannot carry (a report, a name of other bytes than UTF-8) is written as three.

// headerTopic is the topic it came with, where that is not the one its path makes.
const headerTopic = "_retry_topic"

// EncodeSaved writes the line of a save file for a, with its line feed.
func EncodeSaved(a *post.Announcement) ([]byte, error) {
	m, err := wire(a)
	if err != nil {
		return nil, fmt.Errorf("cannot save %.80q: %w", a.Path, err)
	}
	if _, exact := m.Headers[post.HeaderExactPath]; exact || a.Report != nil {
		return marshalLine(m)
	}
	if a.Topic != topicOf(a.Path) {
		m.Headers[headerTopic] = a.Topic
	}
	if err := textHeaders(m.Headers); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err = e.Encode([]any{a.Time.String(), a.Base, a.Path, m.Headers})
	return b.Bytes(), err
}

// EncodeMessage writes the older line of three elements for m, with its line feed.
func EncodeMessage(m post.Message) ([]byte, error) { return marshalLine(m) }

func topicOf(path string) string { return post.MakeTopic(post.DefaultPrefix, path, true) }

// DecodeSaved reads a line of either form, and returns the message with the exchange it came
// through, where that was kept.
func DecodeSaved(line []byte) (m post.Message, exchange string, err error) {
	var parts []json.RawMessage
	if err := json.Unmarshal(line, &parts); err != nil {
		return m, "", err
	}
	var a *post.Announcement
	switch len(parts) {
	case 3:
		a, _, _, err = decodeLine(line)
	case 4:
		a, err = decodeFour(parts)
	default:
		err = fmt.Errorf("an array of %d elements", len(parts))
	}
	if err != nil {
		return m, "", err
	}
	exchange = a.Exchange
	if post.IsV03(a.Topic) {
		m, err = post.EncodeV03(a)
		return m, exchange, err
	}
	m, err = wire(a)
	delete(m.Headers, headerExchange)
	delete(m.Headers, headerContent)
	return m, exchange, err
}

func decodeFour(parts []json.RawMessage) (*post.Announcement, error) {
	a := new(post.Announcement)
	var stamp string
	headers, err := readHeaders(parts[3])
	if err = errors.Join(err, json.Unmarshal(parts[0], &stamp), json.Unmarshal(parts[1], &a.Base), json.Unmarshal(parts[2], &a.Path)); err != nil {
		return nil, err
	}
	if a.Time, err = post.ParseTimestamp(stamp); err != nil {
		return nil, err
	}
	topic, told := headers[headerTopic].(string)
	if !told {
		topic = topicOf(a.Path)
	}
	exchange, _ := headers[headerExchange].(string)
	content := unpackContent(headers)
	bare := post.Announcement{Time: a.Time, Base: a.Base, Path: a.Path}
	m, err := post.EncodeV02(&bare)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(headers, func(k string, _ any) bool { return strings.HasPrefix(k, "_retry_") || k == post.HeaderExactPath })
	if exact, there := m.Headers[post.HeaderExactPath]; there {
		headers[post.HeaderExactPath] = exact
	}
	if a, err = post.DecodeV02(topic, headers, m.Body); err == nil {
		a.Exchange, a.Content = exchange, content
	}
	return a, err
}
