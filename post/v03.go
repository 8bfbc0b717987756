package post

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"strconv"
	"strings"

	"srpump/partition"
)

// Decode reads a message of any version that is read. Those of v00 are told by their topic, those
// of v03 by the first byte of the body, as all peers do. It takes over headers. Errors wrap
// ErrMalformed. What came as v00 has no time.
func Decode(topic string, headers map[string]any, body []byte) (*Announcement, error) {
	switch {
	case hasWord(topic, "v00"):
		return decodeV00(topic, headers, body)
	case hasWord(topic, "v01"):
		return nil, fmt.Errorf("%w: %w", ErrMalformed, errV01)
	}
	if b := bytes.TrimLeft(body, " \t\r\n"); len(b) > 0 && b[0] == '{' {
		return decodeV03(topic, b)
	}
	return DecodeV02(topic, headers, body)
}

// body03 is the JSON body of a v03 announcement; unknown keys go to Headers.
type body03 struct {
	PubTime  string `json:"pubTime"`
	BaseURL  string `json:"baseUrl"`
	RelPath  string `json:"relPath"`
	Size     any    `json:"size"` // a number, or text from C hosts
	Identity *struct {
		Method string `json:"method"`
		Value  any    `json:"value"`
	} `json:"identity"`
	FileOp map[string]string `json:"fileOp"`
}

func decodeV03(topic string, body []byte) (*Announcement, error) {
	malformed := func(err error) (*Announcement, error) { return nil, fmt.Errorf("%w: %w", ErrMalformed, err) }
	if len(body) > 4*maxLine {
		return malformed(fmt.Errorf("v03 body of %d bytes", len(body)))
	}
	var m body03
	var all map[string]any
	if err := json.Unmarshal(body, &m); err != nil {
		return malformed(err)
	}
	if err := json.Unmarshal(body, &all); err != nil {
		return malformed(err)
	}
	if m.BaseURL == "" || m.RelPath == "" || strings.IndexByte(m.RelPath, 0) >= 0 {
		return malformed(fmt.Errorf("v03 body without baseUrl or relPath"))
	}
	a := &Announcement{Topic: topic, Base: m.BaseURL, Path: m.RelPath, Headers: make(map[string]any)}
	var err error
	if a.Time, err = ParseTimestamp(m.PubTime); err != nil {
		return malformed(err)
	}
	a.takeFields(all)
	a.takeSize(m.Size)
	a.takeIdentity(&m)
	return a, nil
}

// takeFields keeps what is text as headers, times in the v02 form.
func (a *Announcement) takeFields(all map[string]any) {
	for k, v := range all {
		s, ok := v.(string)
		if !ok || private(k) {
			continue
		}
		if k == HeaderMtime || k == HeaderAtime {
			t, err := ParseTimestamp(s)
			if err != nil {
				continue
			}
			s = t.String()
		}
		a.Headers[k] = s
	}
}

func (a *Announcement) takeSize(v any) {
	switch v := v.(type) {
	case float64:
		if v >= 0 && v < 1<<53 {
			a.Block = partition.WholeFile(int64(v))
		}
	case string:
		if n, err := strconv.ParseInt(v, 10, 64); err == nil && n >= 0 {
			a.Block = partition.WholeFile(n)
		}
	}
}

// takeIdentity translates identity and fileOp to the header sum.
func (a *Announcement) takeIdentity(m *body03) {
	base := path.Base(m.RelPath)
	if link, ok := m.FileOp["link"]; ok {
		a.SetHeader(HeaderLink, link)
		a.Sum = OfLink(link)
		return
	}
	_, directory := m.FileOp["directory"]
	if _, ok := m.FileOp["remove"]; ok {
		a.Sum = OfRemoval(base)
		if directory {
			a.Sum.Method = SumRmdir
		}
		return
	}
	if directory {
		a.Sum = Fingerprint{SumMkdir, sha512Hex(base)}
		return
	}
	a.SetHeader(HeaderOldname, m.FileOp["rename"])
	if m.Identity != nil {
		a.Sum = identitySum(m.Identity.Method, text(m.Identity.Value), base)
	}
}

func identitySum(method, value, base string) Fingerprint {
	letter := map[string]string{"md5": SumMD5, "sha512": SumSHA512}[method]
	switch {
	case letter != "":
		raw, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			return Fingerprint{}
		}
		return Fingerprint{letter, hex.EncodeToString(raw)}
	case method == "cod":
		if value == "sha512" {
			return Fingerprint{SumLater, SumSHA512}
		}
		return Fingerprint{SumLater, SumMD5}
	case method == "md5name":
		return OfName(base)
	case method == "random":
		return NoSum()
	case method == "arbitrary" && printable(value) && len(value) < MaxHeader-2:
		return Fingerprint{SumGiven, value}
	}
	return Fingerprint{}
}
