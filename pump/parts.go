package pump

import (
	"errors"
	"fmt"
	"path"

	"srpump/partition"
	"srpump/post"
	"srpump/pump/blocks"
	"srpump/pump/hook"
	"srpump/pump/transfer"
)

// inBlocks reports whether an announcement is of one block of several.
func inBlocks(a *post.Announcement) bool {
	return a.HasBlock() && a.Block.Method != partition.Whole && a.Block.Count > 1
}

// assembles reports whether the block an announcement is of is put into its file (sr_options(5), inplace).
func (f *Flow) assembles(a *post.Announcement) bool {
	return inBlocks(a) && f.inplace(a) && f.plan.files && !f.discards()
}

// inplace is the option; part files are delivered to other hosts as the files they are.
func (f *Flow) inplace(a *post.Announcement) bool {
	return f.cfg.Values.Bool("inplace") && (f.plan.there == nil || a.Block.Method == partition.Inplace)
}

// parted reports whether what is announced becomes, or stays, a part file.
func (f *Flow) parted(a *post.Announcement) bool {
	return a.HasBlock() && !f.inplace(a) && (inBlocks(a) || a.Block.Method == partition.Parted)
}

// sharing is what blocks of one version of a file have in common: they are worked on together.
func (f *Flow) sharing(j *job) string {
	if !f.assembles(j.a) {
		return ""
	}
	v, _ := blocks.VersionOf(j.a, f.believed(j.a.Time)) // one that cannot be received stands alone
	return v.Key()
}

// errForged is a part file whose name says something else than its announcement.
var errForged = errors.New("the name of the part file is not that of the block")

// placeParts gives what is announced in blocks its place: that of the file, where it is put together,
// else that of a part file.
func (f *Flow) placeParts(j *job) (err error) {
	if j.at, err = f.placePart(j.a, j.at); err == nil && j.second != (Place{}) {
		j.second, err = f.placePart(j.a, j.second)
	}
	return err
}

func (f *Flow) placePart(a *post.Announcement, at Place) (Place, error) {
	if !a.HasBlock() || a.Block.Method == partition.Whole {
		return at, nil
	}
	dir, base := path.Split(at.Path)
	ispart := a.Block.Method == partition.Parted && partition.IsPartName(base)
	if ispart {
		name, b, _, err := partition.ParsePartName(base, a.Block.Length())
		if err == nil && b != a.Block {
			err = fmt.Errorf("%w: %q for %s", errForged, base, a.Block)
		}
		if err != nil {
			return at, err
		}
		base = name
	}
	switch {
	case !f.parted(a):
		at.Path = dir + base
	case !ispart:
		letter := a.Sum.Method
		if letter == post.SumLater {
			letter = a.Sum.HashMethod()
		}
		b := a.Block
		b.Method = partition.Parted
		at.Path = dir + partition.PartName(base, b, letter)
	}
	return at, nil
}

// announcedBlock is the header parts of the copy of what is announced: a file of so many bytes, a part file, or
// a block of a file that was put together.
func (f *Flow) announcedBlock(a *post.Announcement, size int64) partition.Block {
	b := a.Block
	switch {
	case f.parted(a):
		b.Method = partition.Parted
	case f.assembles(a):
		b.Method = partition.Inplace
	default:
		return partition.WholeFile(size)
	}
	return b
}

// asFile is an announcement of a block as one of a file that holds nothing else.
func asFile(a *post.Announcement) *post.Announcement {
	if !inBlocks(a) {
		return a
	}
	c := *a
	c.Block = partition.WholeFile(a.Block.Length())
	return &c
}

// request names the bytes of j: a part file is fetched whole, another block is a range of its file.
func request(j *job) transfer.Request {
	r := transfer.Whole(j.from.URL)
	if j.from.Local != "" {
		r.URL = transfer.FileURL(j.from.Local)
	}
	if inBlocks(j.a) && j.a.Block.Method == partition.Inplace {
		r.Offset, r.Length = j.a.Block.Offset(), j.a.Block.Length()
	}
	return r
}

// Blocks that cannot be received.
var (
	errBlockHook  = errors.New("a block is no file that a hook could be given")
	errBlockStage = errors.New("a filter is given files, not blocks")
)

// refusesBlock is why a block is not received, if it is not.
func (f *Flow) refusesBlock(j *job) error {
	_, native := f.source(j)
	switch {
	case !inBlocks(j.a):
		return nil
	case f.cfg.Values.String("stage") != "":
		return errBlockStage
	case !native, f.plan.there == nil && !f.hooks.At(hook.OnData).Empty():
		return errBlockHook
	case f.plan.there != nil && f.carrier(j.a) != nil:
		return errBlockHook
	}
	return nil
}
