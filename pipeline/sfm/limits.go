package sfm

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// What the database of the SFM UI takes: it fails on more. Bytes and counts are 32 bits wide.
const (
	LongestID     = 32  // characters, of harvests and WARCs
	LongestStatus = 20  // characters
	LongestName   = 255 // characters, of service, host and instance
	LargestWarc   = math.MaxInt32
)

// CheckLimits tells what the SFM UI could not take of a status.
func (s *Status) CheckLimits() error {
	if err := fits(LongestID, "id", s.ID); err != nil {
		return err
	}
	if err := fits(LongestStatus, "status", s.Status); err != nil {
		return err
	}
	if err := fits(LongestName, "service", s.Service, "host", s.Host, "instance", s.Instance); err != nil {
		return err
	}
	for day, counts := range s.Stats {
		for label, n := range counts {
			if n < 0 || n > math.MaxInt32 {
				return &MemberError{"stats." + day + "." + label, fmt.Sprintf("is %d", n)}
			}
		}
	}
	return nil
}

// CheckLimits tells what the SFM UI could not take of a WARC created message.
func (c *Created) CheckLimits() error {
	if err := c.whole(); err != nil {
		return err
	}
	if c.Bytes < 0 || c.Bytes > LargestWarc {
		return &MemberError{"warc.bytes", fmt.Sprintf("is %d, and the limit %d", c.Bytes, LargestWarc)}
	}
	return fits(LongestID, "warc.id", c.WarcID, "harvest.id", c.HarvestID)
}

// CheckLimits tells what the SFM UI could not take of an export status.
func (s *ExportStatus) CheckLimits() error {
	if err := fits(LongestStatus, "status", s.Status); err != nil {
		return err
	}
	return fits(LongestName, "service", s.Service, "host", s.Host, "instance", s.Instance)
}

// fits checks the lengths of members, which are names and values in turn.
func fits(most int, members ...string) error {
	for i := 0; i < len(members); i += 2 {
		if n := utf8.RuneCountInString(members[i+1]); n > most {
			return &MemberError{members[i], fmt.Sprintf("has %d characters, and the limit is %d", n, most)}
		}
	}
	return nil
}
