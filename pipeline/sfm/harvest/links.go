package harvest

import (
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/items"
)

// mostLinks is how many seeds one web harvest gets; more become another one.
const mostLinks = 20_000

// collect gathers the addresses in an item.
func (h *harvest) collect(into map[string]bool, i items.Item) {
	if !h.o.Links || h.start.Type == sfm.TypeWeb {
		return
	}
	for _, link := range i.URLs(items.URLOptionsOf(h.start.Options)) {
		into[link] = true
	}
}

// derived is an id that is the same whenever it is asked for: that of something of a harvest.
func derived(harvestID, what string) string {
	id := uuid.NewHash(sha1.New(), uuid.NameSpaceOID, []byte(harvestID+"\x00"+what), 5)
	return hex.EncodeToString(id[:])
}

// webStarts asks for the harvest of what was found in a WARC. Its messages have orders of their own:
// nobody may want them, and statuses must not wait for that.
func (h *harvest) webStarts(r *result, name string, links []string) (out []message, err error) {
	for part := range slices.Chunk(links, mostLinks) {
		id := derived(h.start.ID, name+"\x00"+part[0])
		s := sfm.Start{ID: id, ParentID: h.start.ID, Type: sfm.TypeWeb, Path: h.start.Path, CollectionSet: h.start.CollectionSet, Collection: h.start.Collection}
		for _, link := range part {
			s.Seeds = append(s.Seeds, sfm.Seed{ID: derived(id, link), Token: sfm.Text(link)})
		}
		m := h.message(r.Number, sfm.WebStartKey, id)
		body, err := json.Marshal(s)
		if err != nil {
			return nil, err
		}
		m.Body, r.Number = string(body), m.Number
		out = append(out, m)
	}
	return out, nil
}
