package news

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// ID is the id of the document with this URL: the SHA-256 of its normal form, in hexadecimal,
// as mcmetadata has it (unique_url_hash).
func ID(url string) (string, error) {
	normal, err := Normalize(url)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(normal))
	return hex.EncodeToString(sum[:]), nil
}

// rewrites are the patterns of mcmetadata, urls.py. Each is tried in this order; what they do
// to addresses nobody meant is kept, since ids must agree.
type rewrites struct {
	twoSchemes, oneSlash, noPort, noSlash *regexp.Regexp
	youtube                               []*regexp.Regexp
	archive, prefix, podomatic, slashes   *regexp.Regexp
	bareHost                              *regexp.Regexp
}

var patterns = sync.OnceValue(func() *rewrites {
	re := func(s string) *regexp.Regexp { return regexp.MustCompile("(?i)" + s) }
	return &rewrites{
		twoSchemes: re(`(https?://)https?:?//`),
		oneSlash:   re(`(https?:/)([\pL\pN_])`),
		noPort:     re(`^(https?://[\pL\pN_\-.]+):($|/)`),
		noSlash:    re(`(https?://[^/]+)\?`),
		youtube: []*regexp.Regexp{
			re(`^https?://[^/]*youtube.com/(watch\?v=)([^&]+)`), re(`^https?://[^/]*youtube.com/(embed/)([^\?]+)`),
			re(`^https?://[^/]*youtube.com/(channel/)([^\?]+)`), re(`^https?://[^/]*youtube.com/()(.*)`),
		},
		archive: re(`^https://archive.is/[a-z0-9]/[a-z0-9]+/(.*)`),
		prefix: re(`^(https?://)(m|beta|media|data|image|www|cdn|topic|article|news|archive|blog|video|search|preview|login|shop` +
			`|sports?|act|donate|press|web|photos?|\d+?).?\.(.*\.)`),
		podomatic: re(`http://.*pron.*\.podomatic\.com`),
		slashes:   re(`(//.*/)/+`),
		bareHost:  re(`https?://[^/]*$`),
	}
})

// Normalize is the form of a URL by which the same article under several addresses is known to
// be one, equal to that of mcmetadata 1.4 (normalize_url). The scheme is http, there is no port,
// no fragment and no prefix such as www, all but addresses of YouTube is in lower case, parameters
// are sorted and those that only track are gone. The error is that of a URL that has no host, or
// one no host can have.
func Normalize(raw string) (string, error) {
	url, err := normalize(raw)
	if err != nil {
		return "", fmt.Errorf("cannot normalize %q: %w", raw, err)
	}
	return url, nil
}

func normalize(url string) (string, error) {
	p := patterns()
	a, err := parseAddress(p.mend(url))
	if err != nil {
		return "", err
	}
	a.port = 0
	url = p.shorten(p.fold(a.String()))
	if generic, err := normalizeGeneric(url); err == nil {
		url = generic
	}
	if p.bareHost.MatchString(url) {
		url += "/"
	}
	if a, err = parseAddress(url); err != nil {
		return "", err
	}
	a.fragment = fragmentQuery(a.fragment)
	if err := a.removeTracking(); err != nil {
		return "", err
	}
	return strings.TrimSuffix(strings.ReplaceAll(a.String(), "=&", "&"), "="), nil
}

// mend repairs what people get wrong.
func (p *rewrites) mend(url string) string {
	url = strings.TrimSpace(url)
	if strings.Count(url, "//") > 1 {
		url = p.twoSchemes.ReplaceAllString(url, "${1}")
	}
	url = p.oneSlash.ReplaceAllString(url, "${1}/${2}")
	if strings.HasPrefix(url, "//") {
		url = "http:" + url
	}
	url = strings.ReplaceAll(url, `\`, "/")
	url = p.noPort.ReplaceAllString(url, "${1}${2}")
	if strings.Contains(url, "?") {
		url = p.noSlash.ReplaceAllString(url, "${1}/?")
	}
	return strings.ReplaceAll(url, " ", "%20")
}

// fold brings a URL into lower case; ids of YouTube have both, and are only brought into one form.
func (p *rewrites) fold(url string) string {
	lower := strings.ToLower(url)
	if !strings.Contains(lower, "youtube") {
		return lower
	}
	for i, re := range p.youtube {
		m := re.FindStringSubmatch(url)
		if m == nil {
			continue
		}
		if i == 1 {
			m[1] = "watch?v="
		}
		return "https://www.youtube.com/" + strings.ToLower(m[1]) + m[2]
	}
	return lower
}

// shorten takes away what is before and behind the address of the article.
func (p *rewrites) shorten(url string) string {
	if strings.HasPrefix(url, "https://archive") {
		url = p.archive.ReplaceAllString(url, "${1}")
	}
	if !strings.HasPrefix(url, "http") {
		url = "http://" + url
	}
	// r2.ly redirects by the name of the host, as in http://543.r2.ly
	if !isIPv4(hostOf(url)) && !strings.Contains(url, "r2.ly") {
		url = p.prefix.ReplaceAllString(url, "${1}${3}")
	}
	if strings.Contains(url, "podomatic") {
		url = p.podomatic.ReplaceAllString(url, "http://pronkpops.podomatic.com")
	}
	url, _, _ = strings.Cut(url, "#")
	if strings.Count(url, "//") > 1 {
		url = p.slashes.ReplaceAllString(url, "${1}")
	}
	if len(url) >= 6 && strings.EqualFold(url[:6], "https:") {
		url = "http:" + url[6:]
	}
	return url
}

// hostOf is the host of a URL as it is written, without regard to what is valid.
func hostOf(url string) string {
	if _, rest, ok := strings.Cut(url, "//"); ok {
		url = rest
	}
	if i := strings.IndexAny(url, "/?#"); i >= 0 {
		url = url[:i]
	}
	url = url[strings.LastIndexByte(url, '@')+1:]
	host, _, _ := strings.Cut(url, ":")
	return strings.TrimRight(strings.TrimSpace(host), ".")
}
