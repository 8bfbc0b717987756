package news

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// pieces are those of a URL as urllib.parse.urlsplit cuts it.
type pieces struct {
	scheme, netloc, path, query, fragment string
}

var (
	errNoHost  = errors.New("it has no host")
	errBadHost = errors.New("no host is called so")
	errBadPort = errors.New("the port is none")
)

// split cuts a URL; white space that browsers pass over is passed over.
func split(url string) (p pieces, err error) {
	url = strings.TrimLeftFunc(url, func(r rune) bool { return r <= ' ' })
	if strings.ContainsAny(url, "\t\r\n") {
		url = strings.NewReplacer("\t", "", "\r", "", "\n", "").Replace(url)
	}
	if i := strings.IndexByte(url, ':'); i > 0 && isScheme(url[:i]) {
		p.scheme, url = strings.ToLower(url[:i]), url[i+1:]
	}
	if strings.HasPrefix(url, "//") {
		end := strings.IndexAny(url[2:], "/?#")
		if end < 0 {
			end = len(url) - 2
		}
		p.netloc, url = url[2:2+end], url[2+end:]
		if err := checkNetloc(p.netloc); err != nil {
			return p, err
		}
	}
	url, p.fragment, _ = strings.Cut(url, "#")
	p.path, p.query, _ = strings.Cut(url, "?")
	return p, nil
}

func isScheme(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isAlnum(c) && strings.IndexByte("+-.", c) < 0 || i == 0 && c <= '9' {
			return false
		}
	}
	return true
}

// checkNetloc refuses brackets around what is no address, and characters that another reader
// takes for delimiters.
func checkNetloc(netloc string) error {
	opens, closes := strings.Contains(netloc, "["), strings.Contains(netloc, "]")
	if opens != closes {
		return errBadHost
	}
	if opens {
		_, inside, _ := strings.Cut(netloc, "[")
		inside, _, _ = strings.Cut(inside, "]")
		if ip, err := netip.ParseAddr(inside); (err != nil || !ip.Is6()) && !strings.HasPrefix(inside, "v") {
			return errBadHost
		}
	}
	if isASCII(netloc) {
		return nil
	}
	plain := strings.NewReplacer("@", "", ":", "", "#", "", "?", "").Replace(netloc)
	if other := norm.NFKC.String(plain); other != plain && strings.ContainsAny(other, "/?#@:") {
		return errBadHost
	}
	return nil
}

// join is urllib.parse.urlunsplit.
func (p pieces) join() string {
	url := p.path
	if p.netloc != "" || p.scheme != "" && usesNetloc(p.scheme) && !strings.HasPrefix(url, "//") {
		if url != "" && url[0] != '/' {
			url = "/" + url
		}
		url = "//" + p.netloc + url
	}
	if p.scheme != "" {
		url = p.scheme + ":" + url
	}
	if p.query != "" {
		url += "?" + p.query
	}
	if p.fragment != "" {
		url += "#" + p.fragment
	}
	return url
}

func usesNetloc(scheme string) bool {
	switch scheme {
	case "ftp", "http", "gopher", "nntp", "telnet", "imap", "wais", "file", "mms", "https", "shttp", "snews", "prospero",
		"rtsp", "rtspu", "rsync", "svn", "svn+ssh", "sftp", "nfs", "git", "git+ssh", "ws", "wss":
		return true
	}
	return false
}

// An address is a URL taken apart and put together again as furl does it: every part in its
// own escapes.
type address struct {
	scheme         string
	hasScheme      bool
	hasNetloc      bool
	user, password string
	hasUser        bool
	hasPassword    bool
	host           string // as it goes on the wire
	port           int    // 0 is none, or that of the scheme
	path           string
	params         []param
	fragment       string // as it is
}

func parseAddress(url string) (a address, err error) {
	a.scheme, a.hasScheme = looseScheme(url)
	if a.hasScheme {
		url = "http:" + strings.TrimPrefix(url[len(a.scheme):], ":")
	}
	p, err := split(url)
	if err != nil {
		return a, err
	}
	after := url
	if s, ok := looseScheme(url); ok {
		after = url[len(s)+1:]
	}
	a.scheme = strings.ToLower(a.scheme)
	if a.hasNetloc = strings.HasPrefix(after, "//"); a.hasNetloc {
		if err := a.setNetloc(p.netloc); err != nil {
			return a, err
		}
	}
	a.path = requotePath(p.path)
	a.params = parseQuery(p.query)
	a.fragment = p.fragment
	return a, nil
}

// looseScheme is what is before the first colon, if that is before any slash.
func looseScheme(url string) (string, bool) {
	if strings.HasPrefix(url, ":") {
		return "", true
	}
	if i := strings.IndexAny(url, "#?/"); i >= 0 {
		url = url[:i]
	}
	i := strings.IndexByte(url, ':')
	if i <= 0 || !isAlnum(url[0]) || url[0] <= '9' {
		return "", false
	}
	return url[:i], true
}

func (a *address) setNetloc(netloc string) (err error) {
	if userpass, rest, ok := strings.Cut(netloc, "@"); ok {
		a.hasUser, netloc = true, rest
		a.user, a.password, a.hasPassword = strings.Cut(userpass, ":")
		a.user, a.password = unquote(a.user), unquote(a.password)
	}
	colon, bracket := strings.LastIndexByte(netloc, ':'), strings.LastIndexByte(netloc, ']')
	switch {
	case colon < 0 || colon < bracket:
		a.host = netloc
	case bracket >= 0 && colon != bracket+1:
		return errBadHost
	default:
		a.host = netloc[:colon]
		if a.port, err = strconv.Atoi(netloc[colon+1:]); err != nil || a.port <= 0 || a.port > 65535 || netloc[colon+1] == '+' {
			return errBadPort
		}
	}
	return a.setHost()
}

// setHost checks the host and brings it into the form it has on the wire.
func (a *address) setHost() (err error) {
	if err := checkNetloc(a.host); err != nil {
		return err
	}
	literal := strings.HasPrefix(a.host, "[") && strings.HasSuffix(a.host, "]") && strings.Contains(a.host, ":")
	name := strings.TrimSuffix(a.host, ".")
	if !literal && (strings.ContainsAny(name, `!@#$%^&'"*()+=:;/`) || name != "" && (strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".") || strings.Contains(name, ".."))) {
		return errBadHost
	}
	a.host, err = wireHost(strings.ToLower(strings.ReplaceAll(a.host, "İ", "i\u0307"))) // which ToLower makes an "i" alone
	return err
}

// wireHost is the host in ASCII, each of its labels of 1 to 63 bytes.
func wireHost(host string) (string, error) {
	if !isASCII(host) || strings.HasPrefix(host, "xn--") {
		mapped, err := idna.New(idna.MapForLookup(), idna.Transitional(true), idna.StrictDomainName(false),
			idna.CheckHyphens(false), idna.CheckJoiners(false)).ToASCII(host)
		if err != nil {
			return "", errBadHost
		}
		host = mapped
	}
	labels := strings.Split(host, ".")
	for i, label := range labels {
		if len(label) > 63 || label == "" && i < len(labels)-1 {
			return "", errBadHost
		}
	}
	return host, nil
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// String is the URL.
func (a *address) String() string {
	p := pieces{a.scheme, a.netloc(), a.path, quoteQuery(a.params), a.fragment}
	url := p.join()
	if a.hasScheme && a.scheme == "" {
		url = ":" + url
	}
	if a.hasNetloc && p.netloc == "" {
		if !a.hasScheme {
			url = "//" + url
		} else if strings.TrimPrefix(url, a.scheme+":") == "" {
			url += "//"
		}
	}
	return url
}

func (a *address) netloc() string {
	s := quote(a.user, "")
	if a.hasPassword {
		s += ":" + quote(a.password, "")
	}
	if a.hasUser {
		s += "@"
	}
	s += a.host
	if a.port != 0 && strconv.Itoa(a.port) != schemePort(a.scheme) {
		s += ":" + strconv.Itoa(a.port)
	}
	return s
}

// requotePath brings each segment into its own escapes; one with a character in it that ought
// to be escaped is taken to have no escapes.
func requotePath(path string) string {
	const safe = ":@-._~!$&'()*+,;="
	segments := strings.Split(path, "/")
	for i, s := range segments {
		if wellQuoted(s, safe) {
			s = unquote(s)
		}
		segments[i] = quote(s, safe)
	}
	return strings.Join(segments, "/")
}
