package pump

import (
	"context"
	"path/filepath"

	"srpump/partition"
	"srpump/post"
)

// partFile announces a file whose name says that it holds one block of another (sr_post(7), "parts", method p).
// One whose name is not true is passed over, as peers do: what it holds is nobody's block.
func (p *Poster) partFile(ctx context.Context, e entry) error {
	return p.steadily(ctx, e, func(s *sumFile) (begun bool, err error) {
		_, b, method, err := partition.ParsePartName(filepath.Base(e.path), s.info.Size())
		switch {
		case err != nil:
			p.passedOver(e.path, err.Error())
			return false, nil
		case b.Count > partition.MaxBlocks:
			p.passedOver(e.path, "too many blocks")
			return false, nil
		case !namesSum(method):
			p.passedOver(e.path, "unknown sum method")
			return false, nil
		}
		sum := nominal(method, e.path)
		if post.NewHash(method) != nil {
			if sum, err = s.block(ctx, method, partition.WholeFile(s.info.Size())); err == nil {
				err = s.inPlace()
			}
		}
		if err != nil {
			return false, err
		}
		return true, p.part(ctx, e, s, sum, b)
	})
}

// part announces part file s. One written again is announced again, even if it holds the same:
// it may be a block of a new version of its file, of which a receiver waits for all.
func (p *Poster) part(ctx context.Context, e entry, s *sumFile, sum post.Fingerprint, b partition.Block) error {
	a, err := p.maker.File(e.path, s.info, sum, b, p.host.Now())
	if err != nil {
		return err
	}
	if p.dry != nil {
		p.dry(a)
		return nil
	}
	known := a.Clone()
	known.Block = partition.WholeFile(s.info.Size())
	known.Sum.Value += post.FormatTime(s.info.ModTime())
	return p.sendAs(ctx, e.path, a, known)
}

func (p *Poster) passedOver(path, why string) {
	p.host.Log.Debug("part file passed over", "path", path, "reason", why)
}

// namesSum reports whether the name of a part file can end with the method.
func namesSum(method string) bool {
	switch method {
	case post.SumMD5, post.SumSHA512, post.SumName, post.SumNone:
		return true
	}
	return false
}
