package sfm

import (
	"maps"
	"slices"
)

// The headers by which the announcement of a WARC as a file (sr_post(7)) says what only the WARC
// created message knows. Pumps forward headers they do not know, so that a mirror can tell of its own copy.
const (
	HeaderWarc       = "sfm_warc"       // id
	HeaderSHA1       = "sfm_sha1"       // of the file, in hexadecimal
	HeaderHarvest    = "sfm_harvest"    // id
	HeaderType       = "sfm_type"       // of the harvest
	HeaderCollection = "sfm_collection" // id
	HeaderSet        = "sfm_set"        // id of the collection set
	HeaderCreated    = "sfm_created"    // time
)

// Headers are those of the announcement of the WARC.
func (c *Created) Headers() map[string]string {
	return map[string]string{HeaderWarc: c.WarcID, HeaderSHA1: c.SHA1, HeaderHarvest: c.HarvestID, HeaderType: c.HarvestType,
		HeaderCollection: c.Collection, HeaderSet: c.CollectionSet, HeaderCreated: c.Date.String()}
}

// FromHeaders is the message of a WARC that was announced with these headers and is now at path, so many
// bytes long; nil when none of them speaks of a WARC. The error is a *MemberError that names the header.
func FromHeaders(headers map[string]string, path string, bytes int64) (*Created, error) {
	c := &Created{WarcID: headers[HeaderWarc], SHA1: headers[HeaderSHA1], HarvestID: headers[HeaderHarvest], HarvestType: headers[HeaderType],
		Collection: headers[HeaderCollection], CollectionSet: headers[HeaderSet], Path: path, Bytes: bytes}
	names := slices.Sorted(maps.Keys(c.Headers()))
	if !slices.ContainsFunc(names, func(name string) bool { return headers[name] != "" }) {
		return nil, nil
	}
	for _, name := range names {
		if headers[name] == "" {
			return nil, missing(name)
		}
	}
	var err error
	if c.Date, err = ParseTime(headers[HeaderCreated]); err != nil {
		return nil, &MemberError{HeaderCreated, err.Error()}
	}
	return c, c.whole()
}
