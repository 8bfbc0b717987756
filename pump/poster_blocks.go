package pump

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"

	"srpump/partition"
	"srpump/post"
	"srpump/winnow"
)

// A piece is one block of a file, and the fingerprint of its bytes.
type piece struct {
	block partition.Block
	sum   post.Fingerprint
}

// pieces are the blocks of b's file, whose sums are known.
func (p *Poster) pieces(b partition.Block, sum func(number int64) post.Fingerprint) iter.Seq2[piece, error] {
	return func(yield func(piece, error) bool) {
		for b.Number = range b.Numbers(p.cut.random) {
			if !yield(piece{b, sum(b.Number)}, nil) {
				return
			}
		}
	}
}

// A finished is a piece that was read, or why it could not be.
type finished struct {
	piece
	err error
}

// hashed are the blocks of b's file, in order and each as soon as it is known, read by as many at once as
// there are processors. It ends with errChanged once the file is not what it was.
func (p *Poster) hashed(ctx context.Context, s *sumFile, method string, b partition.Block) iter.Seq2[piece, error] {
	return func(yield func(piece, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		var readers sync.WaitGroup
		defer readers.Wait() // as the file is closed then
		defer stop()
		ahead := make(chan chan finished, runtime.GOMAXPROCS(0))
		readers.Go(func() {
			defer close(ahead)
			p.readAhead(ctx, &readers, s, method, b, ahead)
		})
		for next := range ahead {
			got := <-next
			if !yield(got.piece, got.err) || got.err != nil {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(piece{}, err)
		}
	}
}

// readAhead starts reading one block after another, as far ahead as there is room, and promises the results
// in order. All files being read share the places of p.reading, or their buffers would have no bound.
func (p *Poster) readAhead(ctx context.Context, readers *sync.WaitGroup, s *sumFile, method string, b partition.Block, ahead chan<- chan finished) {
	for n := range b.Numbers(p.cut.random) {
		b := b
		b.Number = n
		select {
		case p.reading <- struct{}{}:
		case <-ctx.Done():
			return
		}
		next := make(chan finished, 1)
		readers.Go(func() {
			sum, err := s.block(ctx, method, b)
			if err == nil {
				err = s.inPlace()
			}
			<-p.reading
			next <- finished{piece{b, sum}, err}
		})
		select {
		case ahead <- next:
		case <-ctx.Done():
			return
		}
	}
}

// blocks announces the file of b in pieces, all with the time of its posting, and reports whether it has begun to.
// To the cache the file is one thing: all of its blocks are announced, or none.
// A receiver takes together those of one posting, and would wait for ever for the others.
func (p *Poster) blocks(ctx context.Context, e entry, info fs.FileInfo, b partition.Block, pieces iter.Seq2[piece, error]) (begun bool, err error) {
	var token winnow.Token
	if p.cache != nil {
		sums, err := collected(pieces, b.Count)
		if err != nil {
			return false, err
		}
		known, err := p.maker.File(e.path, info, together(b, sums), partition.WholeFile(info.Size()), p.host.Now())
		if err != nil {
			return false, err
		}
		var fresh bool
		if token, fresh = p.offer(known); !fresh {
			return false, nil
		}
		pieces = p.pieces(b, func(n int64) post.Fingerprint { return sums[n] })
	}
	return p.announceBlocks(ctx, e, info, pieces, newJoint(func(err error) { p.know(token, err) }))
}

// announceBlocks announces the pieces as they come. The cache is told by all, once the broker has each.
func (p *Poster) announceBlocks(ctx context.Context, e entry, info fs.FileInfo, pieces iter.Seq2[piece, error], all *joint) (begun bool, err error) {
	defer func() { all.done(err) }()
	now := p.host.Now()
	for x, err := range pieces {
		if err != nil {
			return begun, err
		}
		a, err := p.maker.File(e.path, info, x.sum, x.block, now)
		if err != nil {
			return begun, err
		}
		begun = true
		if p.dry != nil {
			p.dry(a)
			continue
		}
		all.add()
		if err := p.publish(ctx, e.path, a, all.done); err != nil {
			all.done(err)
			return begun, err
		}
	}
	return begun, nil
}

// broken ends the announcing of a file that is not what it was. What is announced of it already gives way to its
// next announcement, which is later; a watcher makes it as soon as the file has settled.
func (p *Poster) broken(ctx context.Context, e entry, err error) error {
	if p.watcher == nil {
		return err
	}
	p.host.Log.InfoContext(ctx, "changed while it was announced", "path", e.path, "reason", err)
	return nil
}

// collected are the sums of all pieces, by number.
func collected(pieces iter.Seq2[piece, error], count int64) ([]post.Fingerprint, error) {
	sums := make([]post.Fingerprint, count)
	for x, err := range pieces {
		if err != nil {
			return nil, err
		}
		sums[x.block.Number] = x.sum
	}
	return sums, nil
}

// together is a fingerprint of how a file is cut and of all its blocks, for the cache alone.
func together(b partition.Block, sums []post.Fingerprint) post.Fingerprint {
	h := sha256.New()
	io.WriteString(h, b.String())
	for _, sum := range sums {
		io.WriteString(h, "\n"+sum.String())
	}
	return post.Fingerprint{Method: sums[0].Method, Value: hex.EncodeToString(h.Sum(nil))}
}

// A joint is the outcome of many things: its function is called once, when all added and the first are done, with
// the error of one of them, if any had one.
type joint struct {
	open atomic.Int64
	err  atomic.Pointer[error]
	ends func(error)
}

func newJoint(ends func(error)) *joint {
	j := &joint{ends: ends}
	j.open.Store(1)
	return j
}

func (j *joint) add() { j.open.Add(1) }

func (j *joint) done(err error) {
	if err != nil {
		j.err.CompareAndSwap(nil, &err)
	}
	if j.open.Add(-1) > 0 {
		return
	}
	if first := j.err.Load(); first != nil {
		j.ends(*first)
		return
	}
	j.ends(nil)
}
