package retry

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"srpump/post"
)

func order(t *testing.T, q *Queue, dir, do string, patterns ...string) Outcome {
	t.Helper()
	name, err := Submit(dir, Order{do, patterns}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	q.Obey(func(Order, Outcome) {})
	out, there, err := Answer(dir, name)
	if err != nil || !there || out.Error != "" {
		t.Fatalf("%+v %v %v", out, there, err)
	}
	return out
}

func failedOf(t *testing.T, path string) *post.Announcement {
	t.Helper()
	a, err := post.DecodeV02("v02.post.d", map[string]any{"sum": "d,0a", "parts": "1,1,1,0,0"}, []byte("20261121000000.5 http://h/ "+path))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// What is ordered is done to what waits, to what is in flight and to what was given up, and is on
// the disk: the queue opened again is as it was left. Nobody's order is done twice.
func TestOrders(t *testing.T) {
	dir := t.TempDir()
	open := func() *Queue {
		q, err := Open(dir, Options{MaxPermanent: 2})
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	q := open()
	for _, p := range []string{"d/a", "d/b", "e/c"} {
		if _, err := q.Add(failedOf(t, p), Temporary, "down"); err != nil {
			t.Fatal(err)
		}
	}
	if gone, err := q.Add(failedOf(t, "e/dead"), Hopeless, "no"); err != nil || !gone {
		t.Fatal(gone, err)
	}
	if err := q.DeadLetter().Write("v02.post", nil, []byte("nonsense"), "malformed", time.Now()); err != nil {
		t.Fatal(err)
	}
	if out := order(t, q, dir, Requeue, "e"); out != (Outcome{Waiting: 1, Dead: 1}) {
		t.Errorf("%+v", out)
	}
	if out := order(t, q, dir, Requeue, "nonsense"); out != (Outcome{Left: 1}) {
		t.Errorf("what nobody understands: %+v", out)
	}
	due := q.Due(time.Now(), 10)
	if len(due) != 2 || due[0].Tries != 0 {
		t.Fatalf("%d due", len(due))
	}
	if out := order(t, q, dir, Drop, "c", "/d/a"); out != (Outcome{Waiting: 2}) {
		t.Errorf("%+v", out)
	}
	for _, e := range due { // one of them was dropped while it was worked on
		if _, err := q.Fail(e, Temporary, "again"); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	list, err := List(dir)
	if err != nil || len(list) != 3 || list[0].Path != "d/b" || list[1].Path != "e/dead" || list[2].Path != "nonsense" || !list[2].Dead {
		t.Fatalf("%+v %v", list, err)
	}
	q = open()
	defer q.Close()
	if q.Len() != 2 {
		t.Errorf("%d entries", q.Len())
	}
	if left, _ := os.ReadDir(filepath.Join(dir, ordersDir)); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A dead letter that is in the queue already, as after a kill between the two steps, is in it once.
func TestRequeueCutShort(t *testing.T) {
	dir := t.TempDir()
	q, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	if _, err := q.Add(failedOf(t, "a"), Hopeless, "no"); err != nil {
		t.Fatal(err)
	}
	dead := filepath.Join(dir, deadLetterFile)
	before, err := os.ReadFile(dead)
	if err != nil {
		t.Fatal(err)
	}
	order(t, q, dir, Requeue)
	if err := os.WriteFile(dead, before, 0o600); err != nil {
		t.Fatal(err)
	}
	if out := order(t, q, dir, Requeue, "a"); out.Dead != 1 || q.Len() != 1 {
		t.Errorf("%+v, %d entries", out, q.Len())
	}
	if _, err := os.Stat(dead); err == nil {
		t.Error("the dead letter is still there")
	}
}

// What v02 is given back is in its form: no bookkeeping of ours, nothing that is done.
func TestExport(t *testing.T) {
	dir := t.TempDir()
	q, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	for _, p := range []string{"a%20b", "c"} {
		if _, err := q.Add(failedOf(t, p), Temporary, "down"); err != nil {
			t.Fatal(err)
		}
	}
	order(t, q, dir, Requeue, "c")
	if _, err := q.Cancel("c", time.Now()); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	n, err := Export(dir, &out, nil)
	if want := `["v02.post.d",{"parts":"1,1,1,0,0","sum":"d,0a"},"20261121000000.5 http://h/ a%20b"]` + "\n"; err != nil || n != 1 || out.String() != want {
		t.Errorf("%d %v\n%s", n, err, out.String())
	}
}

// What only v03 carries is in the queue again after a requeue and a restart, the content of the file included.
// The Python tools are given what they can read of it, with no link left out.
func TestRequeueKeepsV03(t *testing.T) {
	dir := t.TempDir()
	q, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	link := strings.Repeat("l/", 200)
	a, err := post.DecodeV03("v03.d", []byte(`{"pubTime":"20261121T000000.25","baseUrl":"http://h/","relPath":"x","retrievePath":"get?x",`+
		`"content":{"encoding":"base64","value":"/wA="},"geo":{"at":[1.5,null]},"fileOp":{"link":"`+link+`"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if gone, err := q.Add(a, Hopeless, "no"); err != nil || !gone {
		t.Fatal(gone, err)
	}
	if out := order(t, q, dir, Requeue); out.Dead != 1 {
		t.Fatalf("%+v", out)
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	if q, err = Open(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	due := q.Due(time.Now().Add(time.Hour), 2)
	if len(due) != 1 || !reflect.DeepEqual(due[0].Announcement, a) {
		t.Errorf("%+v\nwant %+v", due, a)
	}
	var out bytes.Buffer
	want := `["v03.d",{"link":"` + link + `","sum":"` + a.Sum.String() + `"},"20261121000000.25 http://h/get?x x"]` + "\n"
	if n, err := Export(dir, &out, nil); err != nil || n != 1 || out.String() != want {
		t.Errorf("%d %v\n%s", n, err, out.String())
	}
}

// The longest bodies that are read can be read again from the queue, as it is opened anew.
func TestLongestV03(t *testing.T) {
	for name, member := range map[string]string{
		"content": `"content":{"encoding":"utf-8","value":"` + strings.Repeat("x", 13<<20) + `"}`,
		"json":    `"geo":[` + strings.Repeat(`"",`, 5<<18) + `""]`,
	} {
		a, err := post.DecodeV03("v03.d", []byte(`{"pubTime":"20261121T000000.25","baseUrl":"http://h/","relPath":"x",`+member+`}`))
		if err != nil {
			t.Fatal(name, err)
		}
		dir := t.TempDir()
		q, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := q.Add(a, Temporary, "down"); err != nil {
			t.Fatal(err)
		}
		if err := q.Close(); err != nil {
			t.Fatal(err)
		}
		if q, err = Open(dir, Options{}); err != nil {
			t.Fatal(err)
		}
		if due := q.Due(time.Now().Add(time.Hour), 1); len(due) != 1 || !reflect.DeepEqual(due[0].Announcement, a) {
			t.Errorf("%s: %d entries", name, len(due))
		}
		q.Close()
	}
}

// What was killed between its dead letter and the end of its entry, or gave up twice, is listed once.
func TestListedOnce(t *testing.T) {
	dir := t.TempDir()
	q, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []struct {
		path  string
		class Class
	}{{"gone", Hopeless}, {"gone", Hopeless}, {"waits", Hopeless}, {"waits", Temporary}} {
		if _, err := q.Add(failedOf(t, s.path), s.class, "why"); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	list, err := List(dir)
	if err != nil || len(list) != 2 || list[0].Path != "waits" || list[0].Dead || list[1].Path != "gone" || !list[1].Dead {
		t.Errorf("%+v, %v", list, err)
	}
}
