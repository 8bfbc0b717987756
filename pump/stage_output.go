package pump

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"srpump/partition"
	"srpump/post"
	"srpump/pump/broker"
	"srpump/pump/fetch"
	"srpump/pump/hook"
)

// A made is an output on its way to being announced.
type made struct {
	*hook.StageOutput
	stage *stage
	rel   string // below the directory of outputs
	file  *sumFile
	turn  *turn

	refused bool // by a hook
}

var (
	errOutside = errors.New("it is not below post_base_dir")
	errNoDir   = errors.New("post_base_dir is not set, and an output is below it")
)

// output begins to announce what the filter made. It waits while too many are under way, and the filter with it.
func (s *stage) output(o *hook.StageOutput) {
	rel, err := s.within(o.Path)
	if err != nil {
		o.Done(&fetch.Error{Op: "announce", Path: o.Path, Class: fetch.Hopeless, Err: err})
		return
	}
	select {
	case s.room <- struct{}{}:
	case <-s.ctx.Done():
		return
	}
	m := &made{StageOutput: o, stage: s, rel: rel}
	m.turn = &turn{run: func() { go m.announce() }}
	s.paths.enter(m.turn, filepath.Join(s.dir, rel))
}

// within is the path of an output below the directory of outputs.
func (s *stage) within(name string) (string, error) {
	if s.dir == "" {
		return "", errNoDir
	}
	if filepath.IsAbs(name) {
		rel, err := filepath.Rel(s.dir, name)
		if err != nil {
			return "", errOutside
		}
		name = rel
	}
	name = filepath.Clean(name)
	if !filepath.IsLocal(name) || name == "." {
		return "", errOutside
	}
	return name, nil
}

// announce reads an output for its fingerprint, makes it durable and publishes its announcement.
func (m *made) announce() {
	s := m.stage
	if !s.begin() {
		m.over(broker.ErrClosed)
		return
	}
	defer s.reading.Done()
	a, err := m.read()
	if err != nil {
		m.over(err)
		return
	}
	s.f.install.Settle(s.tree, m.rel, m.file.f, func(err error) {
		switch {
		case err != nil || s.f.announce == nil:
			m.over(err)
		case s.f.hooks.At(hook.OnPost).Empty():
			m.send(a)
		default:
			s.f.crew.start(func() { m.show(a) })
		}
	})
}

// show has the hooks of on_post see what is about to be announced. What they refuse is not announced, and its
// inputs end without it.
func (m *made) show(a *post.Announcement) {
	at := Place{Root: m.stage.dir, Path: filepath.ToSlash(m.rel)}
	e := &hook.Event{Announcement: a, Local: at.Full()}
	e.Root, e.Dir, e.File = at.split()
	ok, err := m.stage.f.hooks.At(hook.OnPost).Run(m.stage.f.grace, e)
	switch {
	case err != nil:
		m.over(err)
	case !ok:
		m.refused = true
		m.over(nil)
	default:
		m.send(e.Announcement)
	}
}

func (m *made) send(a *post.Announcement) {
	if err := m.stage.f.announce.send(m.stage.ctx, a, m.confirmed); err != nil {
		m.over(err)
	}
}

// confirmed: the broker has the announcement, or has refused it for good. When the flow ends before that, the
// inputs come again.
func (m *made) confirmed(err error) {
	if err != nil && !errors.Is(err, broker.ErrClosed) && !errors.Is(err, broker.ErrMessage) && !errors.Is(err, broker.ErrPrecondition) {
		m.stage.f.fail(err)
	}
	m.over(err)
}

// over ends the way of an output.
func (m *made) over(err error) {
	s := m.stage
	if m.file != nil {
		m.file.close()
	}
	s.paths.leave(m.turn)
	<-s.room
	if err != nil && (s.ctx.Err() != nil || errors.Is(err, broker.ErrClosed)) {
		return
	}
	if err == nil {
		m.count()
	}
	m.Done(err)
}

func (m *made) count() {
	n, log, full := &m.stage.f.Counters, m.stage.f.host.Log, filepath.Join(m.stage.dir, m.rel)
	if m.refused {
		n.Rejected.Add(1)
		log.Info("dropped by a hook", "option", hook.OnPost, "path", full)
		return
	}
	n.Made.Add(1)
	if m.Again {
		n.MadeAgain.Add(1)
	}
	log.Info("made", "path", full)
}

// read opens the output and makes its announcement, with the sum of what it holds once it holds still.
func (m *made) read() (*post.Announcement, error) {
	for try := 1; ; try++ {
		f, err := m.stage.tree.Open(filepath.ToSlash(m.rel))
		if err != nil {
			return nil, err
		}
		m.file = &sumFile{f: f}
		if m.file.info, err = f.Stat(); err != nil {
			return nil, err
		}
		a, err := m.describe()
		if !errors.Is(err, errChanged) || try == settleTries {
			return a, err
		}
		m.file.close()
	}
}

func (m *made) describe() (*post.Announcement, error) {
	s := m.stage
	full := filepath.Join(s.dir, m.rel)
	whole := partition.WholeFile(m.file.info.Size())
	sum := nominal(s.sum, full)
	if method, _, later := strings.Cut(s.sum, ","); !later && post.NewHash(method) != nil {
		var err error
		if sum, err = m.file.block(s.ctx, method, whole); err == nil {
			err = m.file.unchanged()
		}
		if err != nil {
			return nil, err
		}
	}
	a, err := s.maker.File(full, m.file.info, sum, whole, s.f.host.Now())
	if err != nil {
		return nil, fmt.Errorf("cannot announce %q: %w", m.rel, err)
	}
	for name, value := range m.Headers {
		a.SetHeader(name, value)
	}
	s.f.inline.attach(a, full)
	s.f.dress(a)
	return a, nil
}
