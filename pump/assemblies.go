package pump

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"srpump/pump/blocks"
	"srpump/pump/fetch"
)

// An assembly is a file on its way here in blocks (sr_subscribe(1), BLOCKS). Its journal says what is
// here; its temporary file holds it.
type assembly struct {
	full  string        // path of the file
	users int           // jobs at it; guarded by the table
	over  bool          // it is done, and no longer in the table; guarded by the table
	going chan struct{} // closed when nothing is left of it, where nobody may enter; guarded by the table

	mu        sync.Mutex
	journal   *blocks.Journal
	temp      *fetch.Sparse
	from      fetch.Job        // where it is, for whoever removes it
	old       *fetch.Old       // older copy of the file, or nil
	looked    bool             // for it
	installed bool             // the file has its name
	ending    bool             // somebody is about to give it that, or to announce it
	spoilt    bool             // the disk failed: it is opened anew once nobody is at it
	busy      map[int64][]*job // blocks being written, and the jobs that wait for each
	began     time.Time        // when the first block was fetched since it was opened; zero: none was
}

// idleAssemblies is how many files nobody is at stay open.
const idleAssemblies = 16

// assemblies are those of a flow that are open.
type assemblies struct {
	store *blocks.Store

	mu   sync.Mutex
	open map[string]*assembly
	idle []*assembly // the longest idle first
}

// enter takes the assembly of a path, which only blocks of one version have at a time.
func (s *assemblies) enter(full string) *assembly {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.open[full]
	for a != nil && a.going != nil {
		gone := a.going
		s.mu.Unlock()
		<-gone
		s.mu.Lock()
		a = s.open[full]
	}
	if a == nil {
		a = &assembly{full: full, busy: make(map[int64][]*job)}
		if s.open == nil {
			s.open = make(map[string]*assembly)
		}
		s.open[full] = a
	}
	if a.users == 0 {
		s.idle = slices.DeleteFunc(s.idle, func(b *assembly) bool { return a == b })
	}
	a.users++
	return a
}

// leave gives it back.
func (s *assemblies) leave(a *assembly) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.users--; a.users > 0 {
		return
	}
	if a.isEmpty() {
		s.withdraw(a)
	}
	if a.over || a.spoilt || a.journal == nil {
		a.close()
		if !a.over {
			delete(s.open, a.full)
		}
		return
	}
	s.idle = append(s.idle, a)
	if len(s.idle) > idleAssemblies {
		s.idle[0].close()
		delete(s.open, s.idle[0].full)
		s.idle = s.idle[1:]
	}
}

// withdraw removes what there is of a file of which nothing is here. The lock is held, and others have it meanwhile: a
// disk may be slow.
func (s *assemblies) withdraw(a *assembly) {
	a.going = make(chan struct{})
	s.mu.Unlock()
	_ = a.discard(s.store.Withdraw) // what cannot be removed waits for its blocks
	s.mu.Lock()
	close(a.going)
	a.going = nil
}

// isEmpty reports whether no block is here: nothing stays of it then.
func (a *assembly) isEmpty() bool {
	if a.over || a.journal == nil || a.from.Tree == nil && a.journal.File().Temp != (blocks.TempID{}) {
		return false
	}
	here, _ := a.journal.Counts()
	return here == 0
}

// finish ends the journal of a file that is done. Who comes later finds another assembly.
func (s *assemblies) finish(a *assembly) error {
	if err := s.store.Done(a.full, a.log()); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a.over = true
	delete(s.open, a.full)
	return nil
}

// close closes all of them.
func (s *assemblies) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.open {
		a.close()
	}
	s.open, s.idle = nil, nil
}

// close closes what is open; what is on disk stays. Nothing of it was promised that is not there.
func (a *assembly) close() {
	if a.journal != nil {
		_ = a.journal.Close()
	}
	if a.temp != nil {
		a.temp.Close()
	}
	a.old.Close()
	a.journal, a.temp, a.old = nil, nil, nil
	a.began = time.Time{}
	a.looked, a.installed, a.ending, a.spoilt = false, false, false, false
}

// start is when the first block began to be fetched, which is now for who asks first, and where they go.
func (a *assembly) start() (began time.Time, temp string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.began.IsZero() {
		a.began = time.Now()
	}
	return a.began, a.temp.TempPath()
}

// claim has a block for j alone, or lets j wait until whoever has it is done.
func (a *assembly) claim(j *job, n int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if waiting, taken := a.busy[n]; taken {
		a.busy[n] = append(waiting, j)
		return false
	}
	a.busy[n] = nil
	return true
}

// free ends a claim, and returns who waited for it.
func (a *assembly) free(n int64) []*job {
	a.mu.Lock()
	defer a.mu.Unlock()
	waiting := a.busy[n]
	delete(a.busy, n)
	return waiting
}

// begins reports whether the caller is the one to finish the file, all of which is here.
func (a *assembly) begins() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ending || a.journal == nil || !a.journal.Complete() {
		return false
	}
	a.ending = true
	return true
}

// log is the journal, for who has joined.
func (a *assembly) log() *blocks.Journal {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.journal
}

// take takes the temporary file away, for who ends it.
func (a *assembly) take() *fetch.Sparse {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.temp
	a.temp = nil
	return p
}

// sync makes the blocks written durable; where there is no temporary file, they are.
func (a *assembly) sync() error {
	if a.temp == nil {
		return nil
	}
	return a.temp.Sync()
}

func (a *assembly) setInstalled() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.installed = true
}

// failed lets somebody else try to finish it.
func (a *assembly) failed() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ending = false
}

// spoil is for a disk that failed: what is open may never take anything again, and what is written down is sound.
func (a *assembly) spoil() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.spoilt = true
}

// tempID is how the journal tells temporary files apart.
func tempID(id fetch.FileID) blocks.TempID { return blocks.TempID{Inode: id.Inode, Born: id.Born} }

func fileID(id blocks.TempID) fetch.FileID { return fetch.FileID{Inode: id.Inode, Born: id.Born} }

// create begins a file of which nothing is here: its temporary file is there under a durable name before
// the journal says so.
func (a *assembly) create(s *blocks.Store, j fetch.Job, file blocks.File, durable bool) (err error) {
	if a.temp, err = fetch.OpenSparse(j, fetch.FileID{}); err != nil {
		return err
	}
	id, err := a.temp.ID()
	if err == nil && durable {
		err = a.temp.SyncName()
	}
	if err == nil {
		file.Temp = tempID(id)
		a.journal, err = s.Create(a.full, file)
	}
	if err != nil {
		a.temp.Discard()
		a.temp = nil
	}
	return err
}

// reopen opens the temporary file, or finds that it was installed. The error wraps fetch.ErrLost where it is neither.
func (a *assembly) reopen(j fetch.Job) (err error) {
	id := fileID(a.journal.File().Temp)
	if id == (fetch.FileID{}) {
		return fetch.ErrLost // it was for another host, and had none
	}
	if a.temp, err = fetch.OpenSparse(j, id); !errors.Is(err, fetch.ErrLost) || !a.journal.Complete() {
		return err
	}
	if here, lookErr := j.Tree.ID(j.Path); lookErr == nil && here == id {
		a.installed = true
		return nil
	}
	return err
}

// freeze lets nobody who has the journal write into it any more: what it says then is all it ever said.
func (a *assembly) freeze(s *blocks.Store) (err error) {
	if err = a.journal.Close(); err == nil {
		a.journal, err = s.Open(a.full)
	}
	return err
}

// discard removes everything there is of the file. The journal goes first: without it what is left of the
// temporary file is nobody's, and swept. forget removes it, alone or with what was done before.
func (a *assembly) discard(forget func(full string) error) error {
	id := fetch.FileID{}
	if a.journal != nil {
		id = fileID(a.journal.File().Temp)
	}
	if a.temp == nil && id != (fetch.FileID{}) && a.from.Tree != nil && !a.installed {
		a.temp, _ = fetch.OpenSparse(a.from, id) // what is gone needs no removal
	}
	if err := forget(a.full); err != nil {
		return err
	}
	if a.temp != nil {
		a.temp.Discard()
		a.temp = nil
	}
	a.close()
	return nil
}

// lookOld opens the older copy, from which blocks may be taken, the first time.
func (a *assembly) lookOld(j fetch.Job) {
	if !a.looked && !a.installed {
		a.old = fetch.OpenOld(j)
	}
	a.looked = true
}

// openAssemblies looks what there is, and sees to it that what is complete is finished.
func (f *Flow) openAssemblies() (err error) {
	f.assemblies.store, err = blocks.OpenStore(filepath.Join(f.state, "blocks"), f.plan.sync == fetch.SyncOff)
	if err != nil || f.plan.ephemeral {
		return err
	}
	return f.wakeComplete()
}

// wakeComplete puts one block of each file that is complete to the retry queue, as a run that was
// killed may have been the last to know of it.
func (f *Flow) wakeComplete() error {
	var errs []error
	for _, journal := range f.assemblies.store.Unfinished() {
		j, err := f.assemblies.store.OpenNamed(journal)
		if err != nil {
			continue // it is looked at again when a block comes
		}
		if j.Complete() {
			r, ok, err := j.Find(j.File().Version.Cut.Count - 1)
			if err == nil && ok {
				err = f.awaken(r, "its file is complete")
			}
			errs = append(errs, err)
		}
		errs = append(errs, j.Close())
	}
	return errors.Join(errs...)
}

// awaken has a block looked at again, at once.
func (f *Flow) awaken(r blocks.Record, why string) error {
	e, err := f.retries.Hold(r.Came, why)
	if err == nil {
		f.retries.Postpone(e, 0)
	}
	return err
}

// notThere reports whether a journal is just not there, or one that says nothing.
func notThere(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, blocks.ErrEmpty)
}
