package platform

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// oauth1 are the four secrets of a request of Twitter 1.1.
type oauth1 struct {
	key, secret, token, tokenSecret string
}

// sign gives a request its Authorization, RFC 5849 §3 with HMAC-SHA1. The form is what the
// body holds, or nil. The libraries for this sign inside a client of their own, and here the
// client is the recorder's.
func (o oauth1) sign(r *http.Request, form url.Values, now time.Time) {
	o.signWith(r, form, rand.Text(), now.Unix())
}

func (o oauth1) signWith(r *http.Request, form url.Values, nonce string, at int64) {
	own := [][2]string{{"oauth_consumer_key", o.key}, {"oauth_nonce", nonce}, {"oauth_signature_method", "HMAC-SHA1"},
		{"oauth_timestamp", strconv.FormatInt(at, 10)}, {"oauth_token", o.token}, {"oauth_version", "1.0"}}
	base := strings.Join([]string{r.Method, escape1(plainURL(r.URL)), escape1(normalised(own, r.URL.Query(), form))}, "&")
	mac := hmac.New(sha1.New, []byte(escape1(o.secret)+"&"+escape1(o.tokenSecret)))
	mac.Write([]byte(base))
	own = append(own, [2]string{"oauth_signature", base64.StdEncoding.EncodeToString(mac.Sum(nil))})
	parts := make([]string, 0, len(own))
	for _, p := range own {
		parts = append(parts, p[0]+`="`+escape1(p[1])+`"`)
	}
	slices.Sort(parts)
	r.Header.Set("Authorization", "OAuth "+strings.Join(parts, ", "))
}

// plainURL is the base string URI, RFC 5849 §3.4.1.2.
func plainURL(u *url.URL) string {
	return strings.ToLower(u.Scheme) + "://" + strings.ToLower(u.Host) + u.EscapedPath()
}

// normalised are the parameters in the order and form they are signed, RFC 5849 §3.4.1.3.2.
func normalised(own [][2]string, sets ...url.Values) string {
	var pairs [][2]string
	add := func(name, value string) { pairs = append(pairs, [2]string{escape1(name), escape1(value)}) }
	for _, p := range own {
		add(p[0], p[1])
	}
	for _, set := range sets {
		for name, values := range set {
			for _, v := range values {
				add(name, v)
			}
		}
	}
	slices.SortFunc(pairs, func(a, b [2]string) int {
		if a[0] != b[0] {
			return strings.Compare(a[0], b[0])
		}
		return strings.Compare(a[1], b[1])
	})
	out := make([]string, 0, len(pairs))
	for _, p := range pairs {
		out = append(out, p[0]+"="+p[1])
	}
	return strings.Join(out, "&")
}

// escape1 is the percent encoding of RFC 5849 §3.6, under which a blank is %20.
func escape1(s string) string {
	return strings.ReplaceAll(url.QueryEscape(s), "+", "%20")
}
