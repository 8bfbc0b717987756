package news

import (
	"net/netip"
	"regexp"
	"strings"
	"sync"

	"golang.org/x/net/publicsuffix"
)

// Below these domains each name is a site of its own (mcmetadata, blog_domain_pattern).
var blogs = sync.OnceValue(func() *regexp.Regexp {
	const names = `go\.com wordpress\.com blogspot\. livejournal\.com privet\.ru wikia\.com 24open\.ru patch\.com tumblr\.com github\.io ` +
		`typepad\.com squarespace\.com substack\.com iheart\.com ampproject\.org mail\.ru wixsite\.com medium.com free\.fr ` +
		`list-manage\.com over-blog\.com weebly\.com typeform\.com nationbuilder\.com tripod\.com insanejournal\.com cloudfront\.net ` +
		`wpengine\.com noblogs\.org formstack\.com altervista\.org home\.blog kinja\.com sagepub\.com ning\.com hypotheses\.org ` +
		`narod\.ru submittable\.com smalltownpapers\.com herokuapp\.com newsvine\.com newsmemory\.com beforeitsnews\.com jimdo\.com ` +
		`wickedlocal\.com radio\.com stackexchange\.com buzzsprout\.com appspot\.com simplecast\.com fc2\.com podomatic\.com ` +
		`azurewebsites\. sharepoint\.com windows\.net wix\.com googleblog\.com hubpages\.com gitlab\.io blogs\.com shinyapps\.io`
	return regexp.MustCompile(`(?i)\.(` + strings.ReplaceAll(names, " ", "|") + `)`)
})

// Domain is the canonical domain of a URL, as mcmetadata has it: what one registers below a
// public suffix, or the whole name of a blog below the domain of its host, or the site an AMP cache
// holds a copy of. An IP address and a bare public suffix stand for themselves; "" is a host
// below no public suffix.
func Domain(url string) (string, error) {
	if host := hostOf(url); isIPv4(host) {
		return host, nil
	}
	normal, err := Normalize(url)
	if err != nil {
		return "", err
	}
	host := strings.ToLower(hostOf(normal))
	suffix := icannSuffix(host)
	if suffix == host {
		return suffix, nil
	}
	domain, sub := registered(host, suffix)
	if blogs().MatchString(normal) {
		domain = sub + "." + domain
	}
	if strings.Contains(domain, "cdn.ampproject.org") {
		domain = strings.ReplaceAll(domain, ".cdn.ampproject.org", "")
		domain = strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(domain, "amp-", ""), "--", "-"), "-", ".")
	}
	return domain, nil
}

func isIPv4(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Is4()
}

// icannSuffix is the public suffix by the rules of registries alone, without those that
// companies have for their customers; "" when no registry has one.
func icannSuffix(host string) string {
	for {
		suffix, icann := publicsuffix.PublicSuffix(host)
		if icann {
			return suffix
		}
		var ok bool
		if _, host, ok = strings.Cut(suffix, "."); !ok {
			return ""
		}
	}
}

// registered cuts a host into the domain below the suffix and what is before that.
func registered(host, suffix string) (domain, sub string) {
	if suffix == "" {
		return "", host
	}
	rest := strings.TrimSuffix(strings.TrimSuffix(host, suffix), ".")
	if i := strings.LastIndexByte(rest, '.'); i >= 0 {
		sub, rest = rest[:i], rest[i+1:]
	}
	return rest + "." + suffix, sub
}
