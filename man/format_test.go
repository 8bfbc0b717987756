package man

import (
	"strconv"
	"strings"
	"testing"

	"srpump/partition"
	"srpump/post"
)

// cells are the cells of the rows of all tables below a heading.
func (p page) cells(heading string) [][]string {
	var out [][]string
	for _, l := range p.section(heading) {
		if row, ok := strings.CutPrefix(l, ".It "); ok && strings.Contains(row, " Ta ") {
			out = append(out, strings.Split(row, " Ta "))
		}
	}
	return out
}

// The worked examples of parts are what the program computes.
func TestPartsTable(t *testing.T) {
	rows := 0
	for _, c := range find(t, "sr_post(7)").cells("PARTS") {
		if strings.HasPrefix(c[0], "Sy") {
			continue
		}
		rows++
		b, err := partition.Parse(c[0])
		if err != nil {
			t.Fatal(err)
		}
		for i, n := range []int64{b.Offset(), b.Length(), b.FileSize()} {
			if c[i+1] != strconv.FormatInt(n, 10) {
				t.Errorf("%s: the page says %s, the program %d", c[0], c[i+1], n)
			}
		}
	}
	if rows < 6 {
		t.Errorf("only %d examples", rows)
	}
}

// The vectors of checksums are what the program computes; long ones are shown on two lines.
func TestSumVectors(t *testing.T) {
	text := strings.ReplaceAll(strings.Join(find(t, "sr_post(7)").section("THE CHECKSUM"), "\n"), "\n  ", "")
	of := func(method, bytes string) post.Fingerprint {
		f, _, err := post.OfReader(method, strings.NewReader(bytes), make([]byte, 64))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	for _, f := range []post.Fingerprint{
		of("d", "hello world\n"), of("s", "hello world\n"), of("d", ""), post.OfName("foo.txt"), post.OfLink("foo.txt"), post.OfRemoval("ren.txt"),
	} {
		if !strings.Contains(text, f.String()) {
			t.Errorf("the page does not show %s", f)
		}
	}
}

// The examples of where to fetch and where to place are what the program does.
func TestRetrievalExamples(t *testing.T) {
	const columns = "srcpath                     relpath        rename     fetch                       as"
	at := []int{0, strings.Index(columns, "relpath"), strings.Index(columns, "rename"), strings.Index(columns, "fetch"), strings.Index(columns, "as")}
	rows := 0
	below := false
	for _, l := range find(t, "sr_post(7)").section("WHERE TO FETCH, WHERE TO PLACE") {
		if l == columns {
			below = true
			continue
		}
		if below = below && l != ".Ed"; !below {
			continue
		}
		rows++
		cell := func(i int) string { return strings.Fields(l[at[i]:] + " .")[0] }
		a := post.Announcement{Base: cell(0), Path: cell(1)}
		if strings.TrimSpace(l[at[2]:at[3]]) != "" {
			a.SetHeader(post.HeaderRename, cell(2))
		}
		r, err := a.Retrieval(post.BaseAuto)
		if err != nil || r.URL+r.Local != cell(3) || r.Path != cell(4) {
			t.Errorf("%q: the program fetches %q as %q (%v)", l, r.URL+r.Local, r.Path, err)
		}
	}
	if rows < 7 {
		t.Errorf("only %d examples", rows)
	}
}

// What the page says of limits is what the program holds to.
func TestLimits(t *testing.T) {
	text := plain(find(t, "sr_post(7)").lines)
	for _, s := range []string{
		"longer than " + strconv.Itoa(post.MaxTopic) + " bytes", "at most " + strconv.Itoa(post.MaxHeader) + " bytes", post.DefaultPrefix, post.HeaderExactPath,
	} {
		if !strings.Contains(text, s) {
			t.Errorf("the page does not say %q", s)
		}
	}
	topic := post.MakeTopic(post.DefaultPrefix, "a/b/c/d/foo.txt", true)
	if !strings.Contains(text, topic) || !strings.Contains(text, post.MakeTopic(post.DefaultPrefix, "a/b/c/d/foo.txt", false)) {
		t.Errorf("the page does not show the topic %s, with the name and without", topic)
	}
}
