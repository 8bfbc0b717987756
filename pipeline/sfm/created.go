package sfm

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// A Created is a message that a WARC file is there, complete and in its place.
type Created struct {
	WarcID string // globally unique
	Path   string // absolute
	SHA1   string // of the whole file, in hexadecimal
	Bytes  int64
	Date   Time // when it was created

	CollectionSet, Collection string // ids
	HarvestID, HarvestType    string
}

type wireCreated struct {
	Warc struct {
		Path  string `json:"path"`
		SHA1  string `json:"sha1"`
		Bytes int64  `json:"bytes"`
		ID    string `json:"id"`
		Date  Time   `json:"date_created"`
	} `json:"warc"`
	CollectionSet wireID `json:"collection_set"`
	Collection    wireID `json:"collection"`
	Harvest       struct {
		ID   string `json:"id"`
		Type string `json:"type"`
	} `json:"harvest"`
}

// ParseCreated reads a WARC created message. The error is a *SyntaxError or a *MemberError.
func ParseCreated(data []byte) (*Created, error) {
	var w wireCreated
	err := decode(data, &w)
	c := &Created{w.Warc.ID, w.Warc.Path, w.Warc.SHA1, w.Warc.Bytes, w.Warc.Date, w.CollectionSet.ID, w.Collection.ID, w.Harvest.ID, w.Harvest.Type}
	if err == nil {
		err = c.whole()
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the WARC created message: %w", err)
	}
	return c, nil
}

// whole names the first member that must be there and is not.
func (c *Created) whole() error {
	for _, m := range []struct{ name, value string }{{"warc.id", c.WarcID}, {"warc.path", c.Path}, {"warc.sha1", c.SHA1}, {"warc.date_created", c.Date.String()},
		{"collection_set.id", c.CollectionSet}, {"collection.id", c.Collection}, {"harvest.id", c.HarvestID}, {"harvest.type", c.HarvestType}} {
		if m.value == "" {
			return missing(m.name)
		}
	}
	if sum, err := hex.DecodeString(c.SHA1); err != nil || len(sum) != 20 {
		return &MemberError{"warc.sha1", fmt.Sprintf("%q is no SHA-1 in hexadecimal", c.SHA1)}
	}
	return nil
}

// MarshalJSON is the message.
func (c Created) MarshalJSON() ([]byte, error) {
	var w wireCreated
	w.Warc.Path, w.Warc.SHA1, w.Warc.Bytes, w.Warc.ID, w.Warc.Date = c.Path, c.SHA1, c.Bytes, c.WarcID, c.Date
	w.CollectionSet.ID, w.Collection.ID = c.CollectionSet, c.Collection
	w.Harvest.ID, w.Harvest.Type = c.HarvestID, c.HarvestType
	return json.Marshal(w)
}
