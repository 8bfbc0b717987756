package blocks

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"srpump/post"
	"srpump/pump/retry"
)

// A File is what a journal is of.
type File struct {
	Root    string  `json:"root"` // of the tree the file goes to, absolute
	Path    string  `json:"path"` // below it
	Version Version `json:"version"`
	Temp    TempID  `json:"temp"` // the zero TempID where it goes to another host
	// Source is the file of this host it is made of, where it goes to another one.
	Source SourceID `json:"source,omitzero"`
}

// A SourceID tells one state of a file of this host from others.
type SourceID struct {
	Inode uint64 `json:"inode"`
	Size  int64  `json:"size"`
	Mtime int64  `json:"mtime"` // in ns since 1970
}

// A TempID tells the temporary file from another of its name.
type TempID struct {
	Inode uint64 `json:"inode"`
	Born  int64  `json:"born"`
}

// A Record is one block that is here.
type Record struct {
	Number int64
	Sum    post.Fingerprint   // to be announced
	Came   *post.Announcement // as it came
	Made   *post.Announcement // as hooks left it; the same where they did nothing
	Kept   bool               // its bytes are those of the older copy
	Silent bool               // it is not announced, for a hook said so
}

// A Journal is the blocks of one file that are here. Its methods may be called by many
// goroutines at once.
type Journal struct {
	path   string
	noSync bool

	write sync.Mutex // held while writing; taken before mu
	f     *os.File
	size  int64 // bytes that are whole lines
	torn  bool  // something may stand behind them

	mu      sync.Mutex
	file    File
	lines   []int64 // by block: where in the journal its record is, plus one; 0: it is not here
	kept    bits    // of these, from the older copy
	count   int64   // of the blocks here
	fetched int64   // of these, not kept
	next    *batch
}

// A batch is records that go to the disk together.
type batch struct {
	records []Record
	begins  []int64 // of the line of each in lines
	lines   []byte
	over    bool
	last    int64 // block that completed the file, or -1
	err     error
}

// create makes the journal of a file of which nothing is here.
func create(path string, file File, noSync bool) (*Journal, error) {
	j := &Journal{path: path, noSync: noSync}
	j.begin(file)
	line, err := encode(entry{File: &file})
	if err != nil {
		return nil, err
	}
	if j.f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
		return nil, err
	}
	if err := j.append(line); err != nil {
		return nil, errors.Join(err, j.f.Close(), os.Remove(path))
	}
	return j, nil
}

func (j *Journal) begin(file File) {
	j.file = file
	j.lines, j.kept = make([]int64, file.Version.Cut.Count), newBits(file.Version.Cut.Count)
}

// ErrEmpty is a journal whose first line is damaged, so that it says nothing.
var ErrEmpty = errors.New("it does not begin as a journal does")

// open reads a journal. What a kill left of a last line does not count.
func open(path string, noSync bool) (*Journal, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	j := &Journal{path: path, noSync: noSync, f: f}
	end, err := read(f, j.load)
	if err == nil && j.lines == nil {
		err = ErrEmpty
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("cannot read journal %q: %w", path, err)
	}
	j.size, j.torn = end, true
	return j, nil
}

// load takes one entry of the file.
func (j *Journal) load(offset int64, e entry) error {
	switch {
	case e.File != nil && j.lines == nil:
		if e.File.Version.Cut.Check() != nil || e.File.Version.Cut.Count > Most {
			return ErrEmpty
		}
		j.begin(*e.File)
	case j.lines == nil:
		return ErrEmpty
	case e.Block != nil:
		j.note(e.Block.Number, e.Block.Kept, offset)
	case e.Drop != nil:
		j.drop(*e.Drop)
	case e.Posted != nil:
		j.file.Version.Posted = *e.Posted
	}
	return nil
}

func (j *Journal) note(n int64, kept bool, offset int64) {
	if !j.file.Version.holds(n) || j.has(n) {
		return
	}
	j.lines[n] = offset + 1
	j.kept.set(n, kept)
	j.count++
	if !kept {
		j.fetched++
	}
}

func (j *Journal) drop(n int64) {
	if !j.has(n) {
		return
	}
	j.lines[n] = 0
	j.count--
	if !j.kept.has(n) {
		j.fetched--
	}
}

// File is what the journal is of.
func (j *Journal) File() File {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.file
}

// Has reports whether a block is here.
func (j *Journal) Has(n int64) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.has(n)
}

func (j *Journal) has(n int64) bool { return j.file.Version.holds(n) && j.lines[n] > 0 }

// Complete reports whether all blocks are here.
func (j *Journal) Complete() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.count == j.file.Version.Cut.Count
}

// Counts are the blocks that are here, and of these the ones that were fetched.
func (j *Journal) Counts() (here, fetched int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.count, j.fetched
}

// Add records a block. Callers that come while others write go to the disk together: durable is called
// once for them all, and makes their bytes so; then their records are, and only then Add
// returns. completed says that it was the one that completed the file.
func (j *Journal) Add(r Record, durable func() error) (completed bool, err error) {
	line, err := encodeRecord(r)
	if err != nil {
		return false, err
	}
	b := j.join(r, line)
	j.write.Lock()
	defer j.write.Unlock()
	if !b.over {
		j.mu.Lock()
		j.next = nil
		j.mu.Unlock()
		j.flush(b, durable)
	}
	return b.last == r.Number, b.err
}

func (j *Journal) join(r Record, line []byte) *batch {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.next == nil {
		j.next = &batch{last: -1}
	}
	j.next.records = append(j.next.records, r)
	j.next.begins = append(j.next.begins, int64(len(j.next.lines)))
	j.next.lines = append(j.next.lines, line...)
	return j.next
}

func (j *Journal) flush(b *batch, durable func() error) {
	b.over = true
	at := j.size
	if !j.noSync {
		b.err = durable()
	}
	if b.err == nil {
		b.err = j.append(b.lines)
	}
	if b.err != nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for i, r := range b.records {
		before := j.count
		j.note(r.Number, r.Kept, at+b.begins[i])
		if j.count > before && j.count == j.file.Version.Cut.Count {
			b.last = r.Number
		}
	}
}

// append writes whole lines or nothing. The lock for writing is held, or nobody else knows the journal.
func (j *Journal) append(lines []byte) error {
	if j.f == nil {
		return os.ErrClosed
	}
	var err error
	if j.torn {
		err = j.f.Truncate(j.size)
	}
	if err == nil {
		_, err = j.f.WriteAt(lines, j.size)
	}
	if err == nil && !j.noSync {
		err = j.f.Sync()
	}
	if j.torn = err != nil; j.torn {
		return fmt.Errorf("cannot write journal: %w", err)
	}
	j.size += int64(len(lines))
	return nil
}

// put writes one entry, and takes it in.
func (j *Journal) put(e entry) error {
	line, err := encode(e)
	if err != nil {
		return err
	}
	j.write.Lock()
	defer j.write.Unlock()
	if err := j.append(line); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.load(0, e)
}

// Drop forgets a block whose bytes are about to be written over.
func (j *Journal) Drop(n int64) error { return j.put(entry{Drop: &n}) }

// Later takes over that the version was posted once more, later, by another source.
func (j *Journal) Later(v Version) error {
	if !v.Posted.After(j.File().Version.Posted) {
		return nil
	}
	return j.put(entry{Posted: &v.Posted})
}

// Find is the record of a block, read from the disk; false where there is none.
func (j *Journal) Find(n int64) (r Record, ok bool, err error) {
	j.mu.Lock()
	ok = j.has(n)
	var offset int64
	if ok {
		offset = j.lines[n] - 1
	}
	j.mu.Unlock()
	if ok {
		r, err = j.recordAt(offset)
	}
	return r, ok && err == nil, err
}

// Each gives all records, in the order of the blocks.
func (j *Journal) Each(do func(Record) error) error {
	for n := range j.File().Version.Cut.Count {
		r, ok, err := j.Find(n)
		if err == nil && ok {
			err = do(r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (j *Journal) recordAt(offset int64) (Record, error) {
	j.write.Lock()
	defer j.write.Unlock()
	if j.f == nil {
		return Record{}, os.ErrClosed
	}
	e, err := readAt(j.f, offset)
	if err != nil {
		return Record{}, err
	}
	return e.Block.record()
}

// Close closes the journal; what it says stays.
func (j *Journal) Close() error {
	j.write.Lock()
	defer j.write.Unlock()
	if j.f == nil {
		return nil
	}
	f := j.f
	j.f = nil
	return f.Close()
}

// decodeSaved reads an announcement back.
func decodeSaved(line string) (*post.Announcement, error) {
	m, exchange, err := retry.DecodeSaved([]byte(line))
	if err != nil {
		return nil, err
	}
	a, err := post.Decode(m.Topic, m.Headers, m.Body)
	if err == nil {
		a.Exchange = exchange
	}
	return a, err
}
