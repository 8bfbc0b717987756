package export

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"srpump/pipeline/sfm"
)

// Make does an order: it exports the items in files, in their order, and puts the directory in its
// place. What is missing in the export stands in what is Left. The error is a *Refusal for what
// cannot be done, a *PersistError for what cannot be written, ErrBusy or that of ctx; then the
// directory is as it was.
func Make(ctx context.Context, o Order, paths iter.Seq[string]) (Left, error) {
	m, err := begin(&o)
	if err != nil {
		return Left{}, err
	}
	left, err := m.fill(ctx, paths)
	if err != nil {
		return Left{}, err
	}
	defer m.stage.close()
	return left, m.install()
}

// A making is an export on its way.
type making struct {
	order *Order
	stage *stage
	inode uint64 // of the directory, when it is filled
}

func begin(o *Order) (*making, error) {
	err := o.prepare()
	if err != nil {
		return nil, err
	}
	s, err := openStage(o.ID, o.Dir)
	if err != nil {
		return nil, fmt.Errorf("cannot export into %q: %w", o.Dir, err)
	}
	return &making{order: o, stage: s}, nil
}

// fill writes all files; after an error nothing is left of them.
func (m *making) fill(ctx context.Context, paths iter.Seq[string]) (Left, error) {
	f := &flow{order: m.order, out: &segments{dir: m.stage.temp, prefix: prefix(m.order.ID), look: &m.order.look, size: m.order.Segment}}
	err := f.run(ctx, paths)
	if err == nil && f.left.Warcs == 0 {
		err = &Refusal{sfm.Note{Code: sfm.NoWarcs, Message: noFiles}}
	}
	if err == nil {
		m.inode, err = m.stage.seal()
	}
	if err != nil {
		f.out.drop()
		_ = m.stage.discard() // the next one clears what cannot be removed
		if ctx.Err() == nil && !errors.As(err, new(*Refusal)) {
			err = &PersistError{fmt.Errorf("cannot write the export: %w", err)}
		}
		return Left{}, err
	}
	return f.result(), nil
}

// install puts the export in its place.
func (m *making) install() error {
	if err := install(m.stage.temp, m.stage.dir, m.inode); err != nil {
		return &PersistError{err}
	}
	return nil
}
