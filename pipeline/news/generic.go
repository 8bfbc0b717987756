package news

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// normalizeGeneric is the normal form of a URL of any site, that of url-normalize 1.4: host in
// ASCII, escapes only where they are needed and in capitals, no dot segments, parameters sorted. The
// error means that there is none; the URL is then left as it is.
func normalizeGeneric(url string) (string, error) {
	p, err := split(strings.TrimSpace(cleanUp(withScheme(url))))
	if err != nil {
		return "", err
	}
	user, host, port := cutNetloc(p.netloc)
	if host, err = wireHost(strings.Trim(strings.ToLower(host), ".")); err != nil {
		return "", err
	}
	if port, err = normalPort(port, p.scheme); err != nil {
		return "", err
	}
	p.netloc = user + host
	if port != "" {
		p.netloc += ":" + port
	}
	p.path = normalPath(p.path, p.scheme)
	p.query = normalQuery(p.query)
	p.fragment = quote(toNFC(p.fragment), "")
	return p.join(), nil
}

func withScheme(url string) string {
	switch head := url[:min(7, len(url))]; {
	case url == "", url == "-", strings.Contains(head, ":"), url[0] == '/' && !strings.HasPrefix(url, "//"):
		return url
	case strings.HasPrefix(url, "//"):
		return "https:" + url
	}
	return "https://" + url
}

// cleanUp takes utm_source away wherever it stands, with the "&" behind it.
func cleanUp(url string) string {
	const name = "utm_source="
	url = strings.ReplaceAll(url, "#!", "?_escaped_fragment_=")
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(url, name)
		b.WriteString(before)
		if !ok {
			break
		}
		if after == "" || after[0] == '&' {
			b.WriteString(name)
			url = after
			continue
		}
		_, url, _ = strings.Cut(after, "&")
	}
	return strings.TrimRight(b.String(), "&? ")
}

// cutNetloc cuts user, with its "@", from host and port.
func cutNetloc(netloc string) (user, host, port string) {
	if i := strings.IndexByte(netloc, '@'); i >= 0 {
		user, netloc = netloc[:i+1], netloc[i+1:]
	}
	host, port, _ = strings.Cut(netloc, ":")
	if user == "@" || user == ":@" {
		user = ""
	}
	return user, host, port
}

var errNoPort = errors.New("the scheme has no port")

// normalPort leaves out the port of the scheme.
func normalPort(port, scheme string) (string, error) {
	n, err := strconv.ParseUint(port, 10, 64)
	if err != nil || port[0] == '+' {
		return port, nil
	}
	usual := schemePort(scheme)
	if usual == "" {
		return "", errNoPort
	}
	if port = strconv.FormatUint(n, 10); port == usual {
		return "", nil
	}
	return port, nil
}

func schemePort(scheme string) string {
	switch scheme {
	case "http", "ws":
		return "80"
	case "https", "wss":
		return "443"
	case "ftp":
		return "21"
	case "gopher":
		return "70"
	case "news", "nntp":
		return "119"
	case "snews", "snntp":
		return "563"
	case "telnet":
		return "23"
	}
	return ""
}

func toNFC(s string) string { return norm.NFC.String(unquote(s)) }

func normalPath(path, scheme string) string {
	path = quote(toNFC(path), "~:/?#[]@!$&'()*+,;=")
	web := scheme == "http" || scheme == "https" || scheme == "ftp" || scheme == "file"
	if web || scheme == "" {
		path = withoutDots(path)
	}
	if path == "" && web {
		return "/"
	}
	return path
}

// withoutDots takes out "." and empty segments, and ".." with what is before it.
func withoutDots(path string) string {
	var out []string
	last := ""
	for part := range strings.SplitSeq(path, "/") {
		last = part
		switch {
		case part == "" && len(out) > 0, part == ".", part == ".." && len(out) <= 1:
		case part == "..":
			out = out[:len(out)-1]
		default:
			out = append(out, part)
		}
	}
	if last == "" || last == "." || last == ".." {
		out = append(out, "")
	}
	return strings.Join(out, "/")
}

func normalQuery(query string) string {
	const safe = "~:/?#[]@!$'()*+,;="
	params := strings.Split(query, "&")
	for i, p := range params {
		name, value, ok := strings.Cut(p, "=")
		params[i] = quote(toNFC(name), safe)
		if ok {
			params[i] += "=" + quote(toNFC(value), safe)
		}
	}
	slices.Sort(params)
	return strings.Join(params, "&")
}
