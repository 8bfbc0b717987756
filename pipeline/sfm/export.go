package sfm

import (
	"encoding/json"
	"fmt"
)

// An ExportStart is an export start message: what is to be exported, of a collection or of seeds.
type ExportStart struct {
	ID, Type   string
	Collection string // id; "" when there are seeds
	Seeds      []ExportSeed
	Path       string // the directory of the files, replaced as a whole
	Format     string
	// SegmentSize is how many items a file holds; 0 is all.
	SegmentSize int64
	Dedupe      bool
	// ItemDateStart and ItemDateEnd are the first and the last moment of items; zero is any.
	ItemDateStart, ItemDateEnd Time
	// HarvestDateStart and HarvestDateEnd go to the REST API as they are.
	HarvestDateStart, HarvestDateEnd string
	// Raw is the message as it was read; nil in one that was made.
	Raw []byte
}

// An ExportSeed is a seed whose items are exported: those of the owner with that uid.
type ExportSeed struct {
	ID  string `json:"id"`
	UID string `json:"uid"`
}

type wireExport struct {
	ID               string       `json:"id"`
	Type             string       `json:"type"`
	Collection       *wireID      `json:"collection,omitempty"`
	Seeds            []ExportSeed `json:"seeds,omitempty"`
	Path             string       `json:"path"`
	Format           string       `json:"format"`
	SegmentSize      *int64       `json:"segment_size"`
	Dedupe           bool         `json:"dedupe"`
	ItemDateStart    Time         `json:"item_date_start,omitzero"`
	ItemDateEnd      Time         `json:"item_date_end,omitzero"`
	HarvestDateStart string       `json:"harvest_date_start,omitempty"`
	HarvestDateEnd   string       `json:"harvest_date_end,omitempty"`
}

// ParseExportStart reads an export start message. The error is a *SyntaxError or a *MemberError;
// what could be read is returned with it when there is at least an id.
func ParseExportStart(data []byte) (*ExportStart, error) {
	var w wireExport
	err := decode(data, &w)
	if w.ID == "" {
		if err == nil {
			err = missing("id")
		}
		return nil, fmt.Errorf("cannot read the export start message: %w", err)
	}
	s := &ExportStart{ID: w.ID, Type: w.Type, Seeds: w.Seeds, Path: w.Path, Format: w.Format, Dedupe: w.Dedupe, ItemDateStart: w.ItemDateStart,
		ItemDateEnd: w.ItemDateEnd, HarvestDateStart: w.HarvestDateStart, HarvestDateEnd: w.HarvestDateEnd, Raw: append([]byte(nil), data...)}
	if w.Collection != nil {
		s.Collection = w.Collection.ID
	}
	if w.SegmentSize != nil {
		s.SegmentSize = *w.SegmentSize
	}
	if err == nil {
		err = s.Check()
	}
	if err == nil && w.SegmentSize != nil && *w.SegmentSize < 1 {
		err = &MemberError{"segment_size", fmt.Sprintf("is %d", *w.SegmentSize)}
	}
	if err != nil {
		err = fmt.Errorf("cannot read the export start message: %w", err)
	}
	return s, err
}

// Check names the first member that is missing or wrong.
func (s *ExportStart) Check() error {
	for _, m := range []struct{ name, value string }{{"id", s.ID}, {"type", s.Type}, {"path", s.Path}, {"format", s.Format}} {
		if m.value == "" {
			return missing(m.name)
		}
	}
	if err := checkPath(s.Path); err != nil {
		return err
	}
	switch {
	case s.Collection == "" && len(s.Seeds) == 0:
		return &MemberError{"collection", "and seeds are both missing"}
	case s.Collection != "" && len(s.Seeds) > 0:
		return &MemberError{"collection", "and seeds are both there"}
	}
	for i, seed := range s.Seeds {
		if seed.ID == "" {
			return missing(fmt.Sprintf("seeds[%d].id", i))
		}
	}
	return nil
}

// MarshalJSON is the message.
func (s ExportStart) MarshalJSON() ([]byte, error) {
	w := wireExport{ID: s.ID, Type: s.Type, Seeds: s.Seeds, Path: s.Path, Format: s.Format, Dedupe: s.Dedupe, ItemDateStart: s.ItemDateStart,
		ItemDateEnd: s.ItemDateEnd, HarvestDateStart: s.HarvestDateStart, HarvestDateEnd: s.HarvestDateEnd}
	if s.Collection != "" {
		w.Collection = &wireID{s.Collection}
	}
	if s.SegmentSize > 0 {
		w.SegmentSize = &s.SegmentSize
	}
	return json.Marshal(w)
}
