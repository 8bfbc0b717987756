package config

import (
	"fmt"
	"strconv"
	"strings"
)

// A FreeSpace is what is to be left on a file system: so many bytes, or a share of it (the option
// min_free).
type FreeSpace struct {
	percent float64
	bytes   int64
}

// ParseFreeSpace reads a size such as 10G, or a share such as 5%.
func ParseFreeSpace(s string) (f FreeSpace, err error) {
	number, share := strings.CutSuffix(s, "%")
	if !share {
		if f.bytes, err = ParseSize(s); err != nil {
			err = fmt.Errorf("bad min_free %q: it must be a size such as 10G, or a share such as 5%%", s)
		}
		return f, err
	}
	f.percent, err = strconv.ParseFloat(number, 64)
	if err != nil || !(f.percent >= 0 && f.percent < 100) {
		return f, fmt.Errorf("bad min_free %q: it must be a size such as 10G, or a share such as 5%%", s)
	}
	return f, nil
}

// Of is the number of bytes, on a file system of total bytes.
func (f FreeSpace) Of(total int64) int64 {
	return max(f.bytes, int64(f.percent/100*float64(total)))
}
