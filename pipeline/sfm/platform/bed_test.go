package platform_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/harvest"
	"srpump/pipeline/sfm/items"
	"srpump/pipeline/warc"
)

type object = map[string]any

// A bed is a collection that is harvested into again and again.
type bed struct {
	t    *testing.T
	path string
	kind string
	base string
	// what of it is set differs from what harvests are done with
	options harvest.Options
	runs    int
}

func newBed(t *testing.T, kind, base string) *bed {
	return &bed{t: t, path: t.TempDir(), kind: kind, base: base, options: plain()}
}

// An ask is what of a request matters here.
type ask struct {
	id, parent  string
	seeds       []object
	options     object
	credentials object
	stop        <-chan struct{}
	ctx         context.Context
}

func seeds(tokens ...any) (out []object) {
	for i, token := range tokens {
		out = append(out, object{"id": fmt.Sprintf("seed%d", i), "token": token})
	}
	return out
}

// run does a harvest.
func (b *bed) run(a ask) *told {
	b.t.Helper()
	if a.ctx == nil {
		a.ctx = b.t.Context()
	}
	out := &told{t: b.t, kind: b.kind}
	o := b.options
	o.Out = out
	out.outcome, out.err = harvest.New(o).Run(a.ctx, harvest.Job{Body: b.request(a), Stop: a.stop})
	return out
}

// request is the start message of a harvest.
func (b *bed) request(a ask) []byte {
	b.t.Helper()
	b.runs++
	if a.id == "" {
		a.id = fmt.Sprintf("h%d", b.runs)
	}
	if a.options == nil {
		a.options = object{}
	}
	if _, said := a.options["api_base"]; !said && b.base != "" {
		a.options["api_base"] = b.base
	}
	start := object{"id": a.id, "type": b.kind, "path": b.path, "seeds": a.seeds, "options": a.options, "credentials": a.credentials,
		"collection": object{"id": "c"}, "collection_set": object{"id": "s"}, "parent_id": a.parent}
	body, err := json.Marshal(start)
	if err != nil {
		b.t.Fatal(err)
	}
	return body
}

// state is a value of state.json.
func (b *bed) state(module, key string) string {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.path, "state.json"))
	if err != nil {
		b.t.Fatal(err)
	}
	var s map[string]map[string]json.RawMessage
	if err := json.Unmarshal(data, &s); err != nil {
		b.t.Fatal(err)
	}
	return string(s[module][key])
}

// told is what a harvest has said.
type told struct {
	t       *testing.T
	kind    string
	outcome harvest.Outcome
	err     error

	mu       sync.Mutex
	number   uint64
	statuses []sfm.Status
	warcs    []string
}

// Next and Put make it the outbox of a harvest.
func (o *told) Next(least uint64) uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.number = max(o.number+1, least)
	return o.number
}

func (o *told) Put(_ uint64, key, _ string, _ map[string]any, body []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if key == sfm.CreatedKey {
		var c struct{ Warc struct{ Path string } }
		if err := json.Unmarshal(body, &c); err != nil {
			return err
		}
		o.warcs = append(o.warcs, c.Warc.Path)
		return nil
	}
	var s sfm.Status
	if err := json.Unmarshal(body, &s); err != nil {
		return err
	}
	o.statuses = append(o.statuses, s)
	return nil
}

// last is the status at the end.
func (o *told) last() sfm.Status {
	o.t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.statuses) == 0 {
		o.t.Fatalf("nothing was said: %v", o.err)
	}
	return o.statuses[len(o.statuses)-1]
}

// succeeded is a check, and returns the receiver.
func (o *told) succeeded() *told {
	o.t.Helper()
	if o.outcome != harvest.Succeeded {
		o.t.Fatalf("outcome %v, error %v, errors %v", o.outcome, o.err, o.last().Errors)
	}
	return o
}

// failed is a check for an error that holds a text.
func (o *told) failed(text string) {
	o.t.Helper()
	if o.outcome != harvest.Failed {
		o.t.Fatalf("outcome %v, error %v", o.outcome, o.err)
	}
	if got := fmt.Sprint(o.last().Errors); !strings.Contains(got, text) {
		o.t.Fatalf("errors %s, not %q", got, text)
	}
}

// warned is a check for the codes of the warnings, in order, each with its seed.
func (o *told) warned(want ...string) *told {
	o.t.Helper()
	var got []string
	for _, n := range o.last().Warnings {
		if n.Code != sfm.HarvestResumed {
			got = append(got, strings.TrimSuffix(n.Code+" "+n.SeedID, " "))
		}
	}
	if !slices.Equal(got, want) {
		o.t.Errorf("warnings %q, not %q: %v", got, want, o.last().Warnings)
	}
	return o
}

// uids and tokens are what was told of seeds in all statuses together.
func (o *told) seed(of func(sfm.Status) map[string]string, id string) string {
	for _, s := range o.statuses {
		if v := of(s)[id]; v != "" {
			return v
		}
	}
	return ""
}

func uids(s sfm.Status) map[string]string   { return s.UIDs }
func tokens(s sfm.Status) map[string]string { return s.TokenUpdates }

// ids are those of the items in the WARCs, sorted, each as often as it is there.
func (o *told) ids() (out []string) {
	o.t.Helper()
	for _, path := range o.warcs {
		r, ok := items.For(o.kind)
		if !ok {
			o.t.Fatalf("no reader for %s", o.kind)
		}
		o.each(path, func(rec *warc.Record) error {
			return r.Items(rec, func(i items.Item) error {
				if r.Counts(i) {
					out = append(out, i.ID)
				}
				return nil
			})
		})
	}
	slices.Sort(out)
	return out
}

// each reads the records of a WARC, in which nothing may be wrong.
func (o *told) each(path string, do func(*warc.Record) error) {
	o.t.Helper()
	f, err := os.Open(path)
	if err != nil {
		o.t.Fatal(err)
	}
	defer f.Close()
	r := warc.NewReader(f, warc.ReadOptions{Report: func(f *warc.Fault) {
		if f.Damage() {
			o.t.Errorf("%s: %v", path, f)
		}
	}})
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			o.t.Fatal(err)
		}
		if err := do(rec); err != nil {
			o.t.Fatal(err)
		}
	}
}

// text is all that is in the WARCs, unpacked.
func (o *told) text() string {
	var b strings.Builder
	for _, path := range o.warcs {
		o.each(path, func(rec *warc.Record) error {
			b.Write(rec.Head)
			_, err := io.Copy(&b, rec.Block)
			return err
		})
	}
	return b.String()
}

// records counts the records of a type whose URI holds part.
func (o *told) records(kind, part string) (n int) {
	for _, path := range o.warcs {
		o.each(path, func(rec *warc.Record) error {
			if rec.Type() == kind && strings.Contains(rec.URI(), part) {
				n++
			}
			return nil
		})
	}
	return n
}

// unique is a sorted list without what comes twice.
func unique(ids []string) []string { return slices.Compact(slices.Clone(ids)) }
