package sfm

import (
	"encoding/json"
	"fmt"
)

// TypeWeb is the harvest type of addresses that were found in another harvest.
const TypeWeb = "web"

// A Start is a harvest start message: what is to be harvested, how, and for which collection.
type Start struct {
	ID, Type, Path string
	// ParentID is the harvest the seeds were found in, of a web harvest; else "".
	ParentID                  string
	Seeds                     []Seed
	Options, Credentials      map[string]any // numbers are json.Number
	CollectionSet, Collection string         // ids
	// Raw is the message as it was read; nil in one that was made.
	Raw []byte
}

// A Seed is one thing to be harvested. ID names it in what is told about it; only seeds of a web
// harvest may have none. One of Token and UID is there.
type Seed struct {
	ID    string
	Token Token
	UID   string
}

type wireID struct {
	ID string `json:"id"`
}

type wireSeed struct {
	ID    string `json:"id,omitempty"`
	Token Token  `json:"token,omitempty"`
	UID   string `json:"uid,omitempty"`
}

type wireStart struct {
	ID            string         `json:"id"`
	ParentID      string         `json:"parent_id,omitempty"`
	Type          string         `json:"type"`
	Path          string         `json:"path"`
	Seeds         []wireSeed     `json:"seeds,omitempty"`
	Options       map[string]any `json:"options,omitempty"`
	Credentials   map[string]any `json:"credentials,omitempty"`
	CollectionSet wireID         `json:"collection_set"`
	Collection    wireID         `json:"collection"`
}

// ParseStart reads a harvest start message. The error is a *SyntaxError, with line and column,
// or a *MemberError; what could be read is returned with it, so that an answer can be sent to a
// request that has at least an id. Without one it is nil.
func ParseStart(data []byte) (*Start, error) {
	var w wireStart
	err := decode(data, &w)
	if w.ID == "" {
		if err == nil {
			err = missing("id")
		}
		return nil, fmt.Errorf("cannot read the harvest start message: %w", err)
	}
	s := &Start{ID: w.ID, Type: w.Type, Path: w.Path, ParentID: w.ParentID, Options: w.Options, Credentials: w.Credentials,
		CollectionSet: w.CollectionSet.ID, Collection: w.Collection.ID, Raw: append([]byte(nil), data...)}
	for _, seed := range w.Seeds {
		s.Seeds = append(s.Seeds, Seed(seed))
	}
	if err == nil {
		err = s.Check()
	}
	if err != nil {
		err = fmt.Errorf("cannot read the harvest start message: %w", err)
	}
	return s, err
}

// Check names the first member that must be there and is not.
func (s *Start) Check() error {
	for _, m := range []struct{ name, value string }{{"id", s.ID}, {"type", s.Type}, {"path", s.Path},
		{"collection_set.id", s.CollectionSet}, {"collection.id", s.Collection}} {
		if m.value == "" {
			return missing(m.name)
		}
	}
	if err := checkPath(s.Path); err != nil {
		return err
	}
	for i, seed := range s.Seeds {
		if seed.ID == "" && s.Type != TypeWeb {
			return missing(fmt.Sprintf("seeds[%d].id", i))
		}
		if seed.Token.Empty() && seed.UID == "" {
			return missing(fmt.Sprintf("seeds[%d].token", i))
		}
	}
	return nil
}

// MarshalJSON is the message.
func (s Start) MarshalJSON() ([]byte, error) {
	w := wireStart{ID: s.ID, ParentID: s.ParentID, Type: s.Type, Path: s.Path, Options: s.Options, Credentials: s.Credentials,
		CollectionSet: wireID{s.CollectionSet}, Collection: wireID{s.Collection}}
	for _, seed := range s.Seeds {
		w.Seeds = append(w.Seeds, wireSeed(seed))
	}
	return json.Marshal(w)
}

// A Stop is a harvest stop message.
type Stop struct {
	ID string `json:"id"`
}

// ParseStop reads a harvest stop message. The error is a *SyntaxError or a *MemberError.
func ParseStop(data []byte) (*Stop, error) {
	var s Stop
	err := decode(data, &s)
	if err == nil && s.ID == "" {
		err = missing("id")
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the harvest stop message: %w", err)
	}
	return &s, nil
}
