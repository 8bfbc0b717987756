package poll

import (
	"net/url"
	"slices"
	"strings"
	"testing"
)

const apachePre = `<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2 Final//EN">
<html><head><title>Index of /pub/a b</title></head><body>
<h1>Index of /pub/a b</h1>
<pre><img src="/icons/blank.gif" alt="Icon "> <a href="?C=N;O=D">Name</a>   <a href="?C=M;O=A">Last modified</a>  <a href="?C=S;O=A">Size</a>  <a href="?C=D;O=A">Description</a><hr><img src="/icons/back.gif" alt="[PARENTDIR]"> <a href="/pub/">Parent Directory</a>                             -
<a href="big.bin"><img src="/icons/binary.gif" alt="[   ]"></a> <a href="big.bin">big.bin</a>                 2026-11-21 10:00  1.2K  a big one 99
<img src="/icons/text.gif" alt="[TXT]"> <a href="a%20very%20long%20name%26.txt">a very long na..&gt;</a> 21-Nov-2026 10:00  999
<img src="/icons/folder.gif" alt="[DIR]"> <a href="sub/">sub/</a>                    2026-11-20 09:30    -
<hr></pre>
<address>Apache/2.4 Server at <a href="mailto:x@example.com">h</a></address>
</body></html>`

const apacheTable = `<html><body><h1>Index of /pub/a b</h1>
<table><tr><th valign="top"><img src="/icons/blank.gif" alt="[ICO]"></th><th><a href="?C=N;O=D">Name</a></th><th><a href="?C=M;O=A">Last modified</a></th></tr>
<tr><th colspan="5"><hr></th></tr>
<tr><td valign="top"><img src="/icons/back.gif"></td><td><a href="/pub/">Parent Directory</a></td><td>&nbsp;</td><td align="right">  - </td><td>&nbsp;</td></tr>
<tr><td><a href="big.bin"><img src="x"></a></td><td><a href="big.bin">big.bin</a></td><td align="right">2026-11-21 10:00  </td><td align="right">1.2K</td><td>&nbsp;</td></tr>
<tr><td><img></td><td><a href="/pub/a%20b/abs.txt">abs.txt</a></td><td align="right">2026-11-21 10:00</td><td align="right">12</td></tr>
<tr><td><img></td><td><a href="sub/">sub/</a></td><td align="right">2026-11-20 09:30  </td><td align="right">  - </td></tr>
</table></body></html>`

const nginxPage = "<html>\r\n<head><title>Index of /pub/a b/</title></head>\r\n<body>\r\n<h1>Index of /pub/a b/</h1><hr><pre><a href=\"../\">../</a>\r\n" +
	"<a href=\"sub/\">sub/</a>                                               20-Nov-2026 09:30                   -\r\n" +
	"<a href=\"a%3Ab%23c.txt\">a:b#c.txt</a>                                            21-Nov-2026 10:00                1234\r\n</pre><hr></body>\r\n</html>\r\n"

const servePage = "<!DOCTYPE html>\n<html><head><title>Index of /</title></head><body>\n<h1>Index of /</h1>\n<pre><a href=\"../\">Parent Directory</a>\n" +
	"<a href=\"foo.txt\">foo.txt</a>                                            2026-11-21 10:00           12\n" +
	"<a href=\"./a:b\">a:b</a>                                            2026-11-21 10:00           12\n" +
	"<a href=\"d/\">d/</a>                                                2026-11-21 10:00            -\n</pre>\n</body></html>\n"

const plainPage = `<ul><li><a href="one.dat">one</a><li><A HREF='two.dat?download=1'>two</A><li><a name="x">no link</a>
<a href="https://elsewhere.example/pub/three">x</a> <a href="http://h.example/pub/a%20b/four">4</a> <a href="//evil.example/pub/a%20b/five">5</a>
<a href="..%2f..%2fetc%2fpasswd">up</a> <a href="../../etc/passwd">up</a> <a href="deep/er">deeper</a> <a href="/etc/passwd">abs</a>
<a href="%zz">bad</a> <a href="javascript:alert(1)">js</a> <a href="#top">top</a> <a href="">self</a> <a href="nul%00">nul</a> <a href="%0aforged">lf</a> <a href=".">.</a>`

const lighttpdPage = `<table><tbody><tr class="d"><td class="n"><a href="../">..</a>/</td><td class="m">&nbsp;</td><td class="s">- &nbsp;</td></tr>
<tr><td class="n"><a href="l.bin">l.bin</a></td><td class="m">2026-Nov-21 10:00:01</td><td class="s">1.5M</td><td class="t">application/octet-stream</td></tr>`

func readPage(t *testing.T, text string) ([]string, Skipped) {
	t.Helper()
	dir, err := url.Parse("http://h.example/pub/a%20b/")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	sk, err := Page(strings.NewReader(text), dir, options(), func(e Entry) error { out = append(out, short(e)); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return out, sk
}

func TestPage(t *testing.T) {
	for _, c := range []struct {
		name, page string
		want       []string
		refused    int
	}{
		{"Apache, pre", apachePre, []string{
			`f ~1228 2026-11-21T10:00:00+1m0s - "big.bin"`, `f 999 2026-11-21T10:00:00+1m0s - "a very long name&.txt"`, `d -1 2026-11-20T09:30:00+1m0s - "sub"`}, 1},
		{"Apache, table", apacheTable, []string{
			`f ~1228 2026-11-21T10:00:00+1m0s - "big.bin"`, `f 12 2026-11-21T10:00:00+1m0s - "abs.txt"`, `d -1 2026-11-20T09:30:00+1m0s - "sub"`}, 0},
		{"nginx", nginxPage, []string{`d -1 2026-11-20T09:30:00+1m0s - "sub"`, `f 1234 2026-11-21T10:00:00+1m0s - "a:b#c.txt"`}, 0},
		{"sr_serve", servePage, []string{`f 12 2026-11-21T10:00:00+1m0s - "foo.txt"`, `f 12 2026-11-21T10:00:00+1m0s - "a:b"`, `d -1 2026-11-21T10:00:00+1m0s - "d"`}, 0},
		{"plain", plainPage, []string{`f -1 - - "one.dat"`, `f -1 - - "four"`}, 10},
		{"lighttpd", lighttpdPage, []string{`f ~1572864 2026-11-21T10:00:01+1s - "l.bin"`}, 0},
		{"nothing", "", nil, 0},
		{"binary", "\x00\xff<\x01a href=x>\x7f<a\x00 href=y>", nil, 0},
	} {
		got, sk := readPage(t, c.page)
		if !slices.Equal(got, c.want) || sk.Refused != c.refused {
			t.Errorf("%s: skipped %+v, got\n%s\nwant\n%s", c.name, sk, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// A tag that never ends is an error, not a page without names.
func TestEndlessTag(t *testing.T) {
	_, err := Page(&repeated{line: []byte("<a href='xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"), n: 100_000}, &url.URL{Path: "/"}, options(), func(Entry) error { return nil })
	if err == nil {
		t.Error("no error")
	}
}
