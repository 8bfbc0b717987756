package retry

import (
	"encoding/base64"
	"strings"

	"srpump/post"
)

// packContent is the value of headerContent.
func packContent(c *post.Content) string {
	encoding := "utf-8"
	if c.Binary {
		encoding = "base64"
	}
	return encoding + "," + base64.StdEncoding.EncodeToString(c.Data)
}

// unpackContent is the content headers hold, or nil: without it the file is fetched.
func unpackContent(headers map[string]any) *post.Content {
	value, _ := headers[headerContent].(string)
	encoding, packed, there := strings.Cut(value, ",")
	data, err := base64.StdEncoding.DecodeString(packed)
	if !there || err != nil {
		return nil
	}
	return &post.Content{Data: data, Binary: encoding == "base64"}
}
