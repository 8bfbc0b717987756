package export

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"srpump/pipeline/sfm"
)

// A Warc is a WARC file, as the API tells of it.
type Warc struct {
	ID      string   `json:"warc_id"`
	Path    string   `json:"path"` // where SFM has it
	SHA1    string   `json:"sha1"`
	Bytes   int64    `json:"bytes"`
	Created sfm.Time `json:"date_created"`
}

// A Query is which WARC files are asked for: of a collection, or of all harvests that had one of the
// seeds. Dates go to the API as they are; "" is any.
type Query struct {
	Collection                 string
	Seeds                      []string
	HarvestStart, HarvestEnd   string // of the start of the harvest
	CreatedStart, CreatedUntil string // of the file
}

// seedsAtOnce is how many seeds one question names: addresses have a longest length.
const seedsAtOnce = 20

// Warcs are the files asked for, each once, in the order they were made.
func (a *API) Warcs(ctx context.Context, q Query) ([]Warc, error) {
	found := map[string]Warc{} // by path: one that is listed under two ids is still one file
	groups := slices.Collect(slices.Chunk(q.Seeds, seedsAtOnce))
	if len(groups) == 0 {
		groups = [][]string{nil}
	}
	for _, seeds := range groups {
		if err := a.group(ctx, q.values(seeds), found); err != nil {
			return nil, err
		}
	}
	var all []Warc
	for _, w := range found {
		all = append(all, w)
	}
	slices.SortFunc(all, func(x, y Warc) int {
		return cmp.Or(x.Created.Compare(y.Created.Time), cmp.Compare(x.Path, y.Path))
	})
	return all, nil
}

func (q Query) values(seeds []string) url.Values {
	v := url.Values{}
	for _, p := range [][2]string{{"collection", q.Collection}, {"seed", strings.Join(seeds, ",")}, {"harvest_date_start", q.HarvestStart},
		{"harvest_date_end", q.HarvestEnd}, {"created_date_start", q.CreatedStart}, {"created_date_end", q.CreatedUntil}} {
		if p[1] != "" {
			v.Set(p[0], p[1])
		}
	}
	return v
}

// most is how often a list is read that changes meanwhile.
const most = 3

// group reads one list. It has no order, and pages are cut by counting: a file that comes or goes
// meanwhile can move another to a page that was read already. So a list of several pages is read
// until nothing new is in it.
func (a *API) group(ctx context.Context, v url.Values, found map[string]Warc) error {
	for range most {
		met, fresh := map[string]bool{}, 0
		pages, err := a.all(ctx, "warcs", v, func(raw json.RawMessage) (n, added int, err error) {
			var page []Warc
			if err := json.Unmarshal(raw, &page); err != nil {
				return 0, 0, err
			}
			for _, w := range page {
				if w.ID == "" || w.Path == "" {
					return 0, 0, errors.New("a WARC has no id or no path")
				}
				if !met[w.ID] {
					met[w.ID] = true
					added++
				}
				if _, ok := found[w.Path]; !ok {
					found[w.Path] = w
					fresh++
				}
			}
			return len(page), added, nil
		})
		if err != nil || pages == 1 || fresh == 0 {
			return err
		}
	}
	return nil
}

// wholeID is how many characters the id of a collection has.
const wholeID = 32

// Collection is the id of the collection whose id begins so. The error is one when there is none, or
// several.
func (a *API) Collection(ctx context.Context, start string) (string, error) {
	if len(start) >= wholeID {
		return start, nil
	}
	ids := map[string]bool{}
	_, err := a.all(ctx, "collections", url.Values{"collection_startswith": {start}}, func(raw json.RawMessage) (n, fresh int, err error) {
		var page []struct {
			ID string `json:"collection_id"`
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			return 0, 0, err
		}
		before := len(ids)
		for _, c := range page {
			if strings.HasPrefix(c.ID, start) {
				ids[c.ID] = true
			}
		}
		return len(page), len(ids) - before, nil
	})
	switch {
	case err != nil:
		return "", err
	case len(ids) == 0:
		return "", fmt.Errorf("no collection begins with %q", start)
	case len(ids) > 1:
		return "", fmt.Errorf("%d collections begin with %q", len(ids), start)
	}
	for id := range ids {
		start = id
	}
	return start, nil
}
