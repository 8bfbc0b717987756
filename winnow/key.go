package winnow

import (
	"crypto/sha256"
	"encoding/binary"
	"path"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"srpump/post"
)

// A digest is a truncated SHA-256. The zero digest stands for nothing.
type digest [2]uint64

// A sight is what an announcement amounts to here.
type sight struct {
	slot   digest // what it speaks of: a path, or one block of it
	whole  digest // its path; equal to slot unless it is a block
	key    digest // zero when nothing says whether two are the same
	old    digest // the path it was renamed from, or zero
	layout uint32 // how the file is cut; 0 when it is whole
	time   int64  // announced, in ns since 1970
	bytes  uint64 // stands for sum and size; 0 when they do not identify bytes
}

func sightOf(a *post.Announcement, basis Basis) sight {
	var space [256]byte
	p := strings.TrimLeft(a.Path, "/")
	s := sight{time: a.Time.Time().UnixNano()}
	s.whole = pathSlot(space[:0], p)
	s.slot = s.whole
	if isBlock(a) {
		s.slot = sum128(append(strconv.AppendInt(append(space[:0], "block\x00"...), a.Block.Number, 10), "\x00"+p...))
		b := a.Block
		b.Number = 0
		s.layout = uint32(sum128(append(append(space[:0], b.String()...), version(a)...))[0]) | 1
	}
	if old := a.Header(post.HeaderOldname); old != "" {
		s.old = pathSlot(space[:0], strings.TrimLeft(old, "/"))
	}
	if !hasKey(a.Sum) {
		return s
	}
	s.key = sum128(appendKey(space[:0], a, p, basis))
	if identifiesBytes(a) {
		s.bytes = xxhash.Sum64(appendSum(space[:0], a)) | 1
	}
	return s
}

func isBlock(a *post.Announcement) bool { return a.HasBlock() && a.Block.Count > 1 }

// hasKey: sum 0 is copied unconditionally (sr_post(7), "sum"), a missing one says no more.
func hasKey(f post.Fingerprint) bool { return f.Method != "" && f.Method != post.SumNone }

func pathSlot(b []byte, p string) digest { return sum128(append(append(b, "path\x00"...), p...)) }

// appendKey writes what must be equal in two announcements of the same thing:
// sum, path by basis, exact parts. A block is the same only within one version of its file: were those
// withheld that a later version or another path has, too, whoever receives the others would wait for them
// for ever.
func appendKey(b []byte, a *post.Announcement, p string, basis Basis) []byte {
	b = append(appendSum(b, a), 0)
	switch {
	case pathMatters(a, basis):
		b = append(b, p...)
	case basis == Name:
		b = append(b, path.Base(p)...)
	default:
		b = append(b, "data"...)
	}
	if a.Sum.Method == post.SumLater {
		b = append(append(b, 0), mtime(a)...)
	}
	if isBlock(a) {
		b = append(append(b, 0), version(a)...)
	}
	return b
}

// version tells the versions of a file announced in blocks apart, as receivers do: by the time it was
// modified, which two sources of one file have in common; where that is not announced, by the time of the
// posting, which all its blocks bear.
func version(a *post.Announcement) string {
	if m := mtime(a); m != "" {
		return "m" + m
	}
	return "t" + strconv.FormatInt(a.Time.Time().UnixNano(), 10)
}

// appendSum writes sum and parts. The sum of a name says nothing of the bytes, so that the
// size of a whole file does not count; removals and links have no parts.
func appendSum(b []byte, a *post.Announcement) []byte {
	value := a.Sum.Value
	if a.Sum.Verifiable() {
		value = strings.ToLower(value)
	}
	b = append(append(append(b, a.Sum.Method...), ','), value...)
	if !a.HasBlock() || speaksOfPath(a.Sum) || a.Sum.Method == post.SumName && !isBlock(a) {
		return b
	}
	return append(append(b, 0), a.Block.String()...)
}

// speaksOfPath: the sum of a removal, link or directory is about the path, not bytes.
func speaksOfPath(f post.Fingerprint) bool {
	return f.IsRemoval() || f.IsLink() || f.Method == post.SumMkdir
}

// pathMatters: basis Data never merges what has no bytes, or no sum over them, and no basis blocks.
func pathMatters(a *post.Announcement, basis Basis) bool {
	return basis == Path || isBlock(a) || speaksOfPath(a.Sum) || basis == Data && !identifiesBytes(a)
}

func identifiesBytes(a *post.Announcement) bool {
	switch a.Sum.Method {
	case post.SumMD5, post.SumSHA512:
		return a.Size() > 0 || a.Size() < 0 && !emptySum(a.Sum)
	case post.SumGiven:
		return a.Size() != 0
	}
	return false
}

func emptySum(f post.Fingerprint) bool {
	h := post.NewHash(f.Method)
	return f.Equal(post.OfHash(f.Method, h))
}

// mtime is the same for two peers that write the same instant differently.
func mtime(a *post.Announcement) string {
	if t := a.Mtime(); !t.IsZero() {
		return strconv.FormatInt(t.Time().UnixNano(), 10)
	}
	return a.Header(post.HeaderMtime)
}

func sum128(b []byte) digest {
	s := sha256.Sum256(b)
	return digest{binary.LittleEndian.Uint64(s[:8]), binary.LittleEndian.Uint64(s[8:16])}
}
