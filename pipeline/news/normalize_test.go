package news

import (
	"strings"
	"testing"
)

// vectors are what mcmetadata 1.4 says of these addresses: normal form, start of the id, domain.
func vectors() [][4]string {
	return [][4]string{
		{"https://example.com/a", "http://example.com/a", "5bd48fa66118084c", "example.com"},
		{"https://www.Example.com/News/Story-1.html?utm_source=x&b=2&a=1#frag", "http://example.com/news/story-1.html?a=1&b=2", "b18b7a4092f5640a", "example.com"},
		{"http://example.com", "http://example.com/", "2a1b402420ef4657", "example.com"},
		{"https://m.wired.com///story//a", "http://wired.com/story/a", "9ca128da2cfb20d1", "wired.com"},
		{"https://www.nytimes.com/2011/06/29/us/29marriage.html?_r=1&smid=tw", "http://nytimes.com/2011/06/29/us/29marriage.html", "71d7c6595f162f04", "nytimes.com"},
		{"https://www.youtube.com/watch?v=AbC123&t=5", "http://youtube.com/watch?v=AbC123", "afdbe194752d6c13", "youtube.com"},
		{"https://example.com:8443/x?sort=asc&PHPSESSID=1", "http://example.com/x?phpsessid=1&sort=asc", "12fea57945e0b32a", "example.com"},
		{"https://news.bbc.co.uk/2/hi/1.stm", "http://bbc.co.uk/2/hi/1.stm", "e936ca5073d0dbfb", "bbc.co.uk"},
		{"https://foo.blogspot.com/2020/01/a.html", "http://foo.blogspot.com/2020/01/a.html", "b9cda83fda0a6f14", "foo.blogspot.com"},
		{"https://www2.example.com/x?=&y=", "http://example.com/x?y", "037983222c6ecb4a", "example.com"},
		{"https://example.com/café?q=a b", "http://example.com/caf%C3%A9?q=a+b", "1ef40e966d2dd46b", "example.com"},
		{"https://archive.is/o/abc1/https://example.com/x", "http://example.com/x", "83422ef35e89f2d4", "example.com"},
		{"https://example.com/x?nk=zz", "http://example.com/x?nk=zz", "369814ec04b29e1e", "example.com"},
		{"https://bücher.de/x", "http://xn--bcher-kva.de/x", "08962a90e19c5f95", "xn--bcher-kva.de"},
		{"https://xn--bcher-kva.de/x", "http://xn--bcher-kva.de/x", "08962a90e19c5f95", "xn--bcher-kva.de"},
		{"https://example-com.cdn.ampproject.org/c/s/example.com/x", "http://example-com.cdn.ampproject.org/c/s/example.com/x", "59fdb7cc2f2dced1", "example.com"},
		{"http://www.gov.cn/x", "http://gov.cn/x", "c00a2fe90be82b56", "gov.cn"},
		{"https://127.0.0.1/x", "http://127.0.0.1/x", "42731f26d35f054d", "127.0.0.1"},
	}
}

func TestVectors(t *testing.T) {
	for _, v := range vectors() {
		url, err := Normalize(v[0])
		id, errID := ID(v[0])
		domain, errDomain := Domain(v[0])
		if err != nil || errID != nil || errDomain != nil || url != v[1] || !strings.HasPrefix(id, v[2]) || domain != v[3] || len(id) != 64 {
			t.Errorf("%q is %q %s %q, not %q; %v %v %v", v[0], url, id, domain, v[1:], err, errID, errDomain)
		}
	}
}

// What the reference makes of addresses nobody meant, found by running it on 60,000 of them.
func TestNormalizeOddities(t *testing.T) {
	for url, want := range map[string]string{
		"http://http://www.al-monitor.com/pulse":       "http://al-monitor.com/pulse",
		`http:\\www.mysite.com/`:                       "http://mysite.com/",
		"//www.mysite.com/":                            "http://mysite.com/",
		"https://www.gpo.gov:/fdsys/pkg/PL":            "http://gpo.gov/fdsys/pkg/pl",
		"http://newsmachete.com?page=2":                "http://newsmachete.com/?page=2",
		"https://example.com/x?nk=zaz":                 "http://example.com/x", // one digit is enough
		"https://a.com/a%20b|c":                        "http://a.com/a%2520b%7Cc",
		"https://a.com/%C3%89/%c3%89":                  "http://a.com/%C3%89/%C3%89", // case folds before escapes are undone
		"https://a.com/%E2%82x":                        "http://a.com/%EF%BF%BDx",
		"https://a.com/e\u0301":                        "http://a.com/%C3%A9",
		"https://a.com/x?a;b=2;a":                      "http://a.com/x?a&a&b=2",
		"https://a.com/%3Fq":                           "http://a.com/?q",
		"https://a.com/x%23a=b":                        "http://a.com/x#a=b",
		"https://543.r2.ly/x":                          "http://543.r2.ly/x",
		"http://pronkray.podomatic.com/x":              "http://pronkpops.podomatic.com/x",
		"https://u:p%40@h.com/x":                       "http://u:p%40@h.com/x",
		"https://www.youtube.com/embed/AbC?x=1":        "http://youtube.com/watch?v=AbC",
		"https://İstanbul.com":                         "http://xn--istanbul-o0e.com/",
		"https://a.com/a/./b/../c/":                    "http://a.com/a/c/",
		" https://www.google.de/x?ei=1&gws_rd=2&q=A\n": "http://google.de/x?q=a",
	} {
		got, err := Normalize(url)
		if err != nil || got != want {
			t.Errorf("%q is %q, %v, not %q", url, got, err, want)
		}
	}
	for _, url := range []string{"http://a..b/", "http://a.com:x/", "http://a.com:99999/", "http://[::1/", "http://a b.com:0/"} {
		if got, err := Normalize(url); err == nil {
			t.Errorf("%q is %q", url, got)
		}
	}
}

func TestDomain(t *testing.T) {
	for url, want := range map[string]string{
		"https://observers.france24.com/en/x":           "france24.com",
		"https://datatherapy.wordpress.com/2019":        "datatherapy.wordpress.com",
		"https://wordpress.com/blog/2022":               "wordpress.com",
		"https://www-example-com.cdn.ampproject.org/c/": "www.example.com",
		"https://a.b.co.uk/":                            "b.co.uk",
		"https://user.github.io/":                       "user.github.io",
		"https://somebody.blogspot.co.uk/x":             "somebody.blogspot.co.uk",
		"https://localhost/x":                           "",
		"https://10.0.0.1:80/x":                         "10.0.0.1",
	} {
		if got, err := Domain(url); err != nil || got != want {
			t.Errorf("the domain of %q is %q, %v, not %q", url, got, err, want)
		}
	}
}

func TestChecks(t *testing.T) {
	for url, want := range map[string]Verdict{
		"": NoURL, "https://example.com/x": Good, "ftp://example.com/": BadScheme, "/x": NoHost, "http://": NoHost,
		"http://en.wikipedia.org/wiki/X": NonNews, "https://YouTube.com/x": NonNews, "https://notyoutube.com/x": Good,
		"http://localhost:80/x": BadHost, "http://127.0.0.1/": BadHost, "http://[::1]/": BadHost, "http://[::1/": BadURL, "http://a:b/": BadURL,
	} {
		if got := CheckURL(url); got != want {
			t.Errorf("%q is %q, not %q", url, got, want)
		}
	}
	for n, want := range map[int]Verdict{0: NoHTML, 1: Good, MaxPage: Good, MaxPage + 1: Oversized} {
		if got := CheckPage(n); got != want {
			t.Errorf("%d bytes are %q", n, got)
		}
	}
}

// Whatever a URL is made of, the normal form of a normal form is found, and nothing panics.
func FuzzNormalize(f *testing.F) {
	for _, v := range vectors() {
		f.Add(v[0])
	}
	f.Add("http://%zz@[v1.x]:1/\xff?%=&&;#!?=")
	f.Fuzz(func(t *testing.T, url string) {
		if normal, err := Normalize(url); err == nil && !strings.Contains(normal, ":") {
			t.Errorf("%q is %q", url, normal)
		}
		_, _ = Domain(url)
		_ = CheckURL(url)
	})
}
