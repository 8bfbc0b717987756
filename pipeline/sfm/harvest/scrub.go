package harvest

import (
	"bytes"
	"cmp"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"srpump/pipeline/sfm"
)

// scrubbed stands where a secret was.
const scrubbed = "SCRUBBED"

// shortest is the length of a credential, in bytes, from which on it is looked for wherever it may be;
// a shorter one would be found in everything.
const shortest = 6

// A scrubber takes secrets out of what is recorded and said.
type scrubber struct {
	exact  bool            // records stay as they are; what is said does not
	names  map[string]bool // of query parameters and headers, in lower case
	values []string        // the longest first, as they are and as an address has them
}

func newScrubber(t *Type, s *sfm.Start, exact bool) *scrubber {
	c := &scrubber{exact: exact, names: map[string]bool{"authorization": true, "proxy-authorization": true, "cookie": true}}
	for _, name := range t.Secrets {
		c.names[strings.ToLower(name)] = true
	}
	for _, v := range s.Credentials {
		text := word(v)
		if len(text) < shortest {
			continue
		}
		c.values = append(c.values, text)
		if escaped := url.QueryEscape(text); escaped != text {
			c.values = append(c.values, escaped)
		}
	}
	slices.SortFunc(c.values, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return c
}

// text is what may be said of something.
func (c *scrubber) text(s string) string {
	for _, v := range c.values {
		s = strings.ReplaceAll(s, v, scrubbed)
	}
	return c.query(nameless(s))
}

// nameless takes out the user and the password of addresses.
func nameless(s string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(s, "://")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		out.WriteString("://")
		host := rest
		if end := strings.IndexAny(rest, "/?#\"\\ "); end >= 0 {
			host = rest[:end]
		}
		if at := strings.LastIndexByte(host, '@'); at >= 0 {
			out.WriteString(scrubbed)
			rest = rest[at:]
		}
		s = rest
	}
}

// uri is an address as it is recorded.
func (c *scrubber) uri(address string) string {
	if c.exact {
		return address
	}
	return c.text(address)
}

// query scrubs the parameters of an address by their names, and leaves all others as they are.
func (c *scrubber) query(address string) string {
	before, query, found := strings.Cut(address, "?")
	if !found {
		return address
	}
	query, fragment, hasFragment := strings.Cut(query, "#")
	parts := strings.Split(query, "&")
	for i, part := range parts {
		name, _, valued := strings.Cut(part, "=")
		if plain, err := url.QueryUnescape(name); err == nil && valued && c.names[strings.ToLower(plain)] {
			parts[i] = name + "=" + scrubbed
		}
	}
	address = before + "?" + strings.Join(parts, "&")
	if hasFragment {
		address += "#" + fragment
	}
	return address
}

// request is a request as it is recorded.
func (c *scrubber) request(raw []byte) []byte {
	if c.exact {
		return raw
	}
	head, body, _ := bytes.Cut(raw, []byte("\r\n\r\n"))
	lines := strings.Split(string(head), "\r\n")
	for i, line := range lines {
		name, _, header := strings.Cut(line, ":")
		switch {
		case i == 0:
			method, rest, _ := strings.Cut(line, " ")
			target, version, _ := strings.Cut(rest, " ")
			lines[i] = method + " " + c.text(target) + " " + version
		case header && c.names[strings.ToLower(name)]:
			lines[i] = name + ": " + scrubbed
		default:
			lines[i] = c.values1(line)
		}
	}
	out := append([]byte(strings.Join(lines, "\r\n")), "\r\n\r\n"...)
	return append(out, c.form(body, lines)...)
}

// values1 takes the credentials out of a line.
func (c *scrubber) values1(line string) string {
	for _, v := range c.values {
		line = strings.ReplaceAll(line, v, scrubbed)
	}
	return line
}

// form is a body: a form is scrubbed by names, everything else by values.
func (c *scrubber) form(body []byte, head []string) []byte {
	text := c.values1(string(body))
	for _, line := range head {
		name, value, _ := strings.Cut(line, ":")
		if textproto.CanonicalMIMEHeaderKey(name) == "Content-Type" && strings.Contains(value, "x-www-form-urlencoded") {
			return []byte(strings.TrimPrefix(c.query("?"+text), "?"))
		}
	}
	return []byte(text)
}

// said is what a warcinfo record says of it.
func (c *scrubber) said() string {
	if c.exact {
		return "nothing"
	}
	names := make([]string, 0, len(c.names)+1)
	for name := range c.names {
		names = append(names, http.CanonicalHeaderKey(name))
	}
	slices.Sort(names)
	return strings.Join(append(names, "values of credentials"), ", ")
}
