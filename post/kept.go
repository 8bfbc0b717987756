package post

import (
	"encoding/hex"
	"io/fs"
	"os"
	"strings"
	"time"
)

// The extended attributes living peers keep a file's fingerprint in, as the header says it, and the time of
// the contents it is of.
const (
	attrSum   = "user.sr_sum"
	attrMtime = "user.sr_mtime"
)

// maxAttr is more than any value of ours has, in bytes.
const maxAttr = MaxHeader

// settledAge is the age of a modification time from which on a later write bears another: file systems tick
// in steps of up to 10 ms.
const settledAge = 10 * time.Millisecond

// KeptSum is the fingerprint by method of all bytes of f which its extended attributes hold, a checksum or what an
// application gave, when they are of its contents as of info. The kept time must be that of the contents, to the microsecond of living peers.
// One that is later will do where nothing at all happened to the file since: else what was
// written by a copy that sets an old time back would go by the sum of what it replaced.
func KeptSum(f *os.File, info fs.FileInfo, method string) (Fingerprint, bool) {
	text, ok := getAttr(f, attrSum)
	if !ok {
		return Fingerprint{}, false
	}
	sum, err := ParseSum(text)
	if err != nil || sum.Method != method || !keepable(sum) {
		return Fingerprint{}, false
	}
	stamp, _ := getAttr(f, attrMtime)
	of, err := ParseTimestamp(stamp)
	if err != nil {
		return Fingerprint{}, false
	}
	changed, known := changeTime(info)
	same := of.Time().Truncate(time.Microsecond).Equal(info.ModTime().Truncate(time.Microsecond))
	later := known && of.Time().After(info.ModTime()) && !of.Time().Before(changed)
	return sum, same || later
}

// keepable reports whether it says what the bytes are: a checksum by the method, as we write it, or a value that
// an application gave.
func keepable(f Fingerprint) bool {
	if f.Method == SumGiven {
		return f.Value != ""
	}
	h := NewHash(f.Method)
	if h == nil || len(f.Value) != 2*h.Size() || f.Value != strings.ToLower(f.Value) {
		return false
	}
	_, err := hex.DecodeString(f.Value)
	return err == nil
}

// KeepSum keeps the fingerprint of all bytes of f, which were read from the time began on, while f was as
// info says, and reports whether it did. It does not where a later write could bear
// the same modification time, nor where the file system refuses (it has no attributes, or no room): then the
// sum is computed again the next time.
func KeepSum(f *os.File, info fs.FileInfo, sum Fingerprint, began time.Time) bool {
	if !keepable(sum) || began.Sub(info.ModTime()) < settledAge {
		return false
	}
	// In this order a sum never stands beside the time of other contents, wherever we are killed.
	return dropAttr(f, attrMtime) && setAttr(f, attrSum, sum.String()) && setAttr(f, attrMtime, FormatTime(info.ModTime()))
}

// KeepNewSum is KeepSum for a file nobody else has a name of yet.
func KeepNewSum(f *os.File, sum Fingerprint) {
	if !keepable(sum) {
		return
	}
	if info, err := f.Stat(); err == nil && setAttr(f, attrSum, sum.String()) {
		setAttr(f, attrMtime, FormatTime(info.ModTime()))
	}
}
