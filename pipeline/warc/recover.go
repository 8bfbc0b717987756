package warc

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
)

// A Recovery is what was kept of a file, and what was not.
type Recovery struct {
	Kept         int   // records
	KeptBytes    int64 // of the new file
	Damaged      int   // records, or stretches of garbage, that were reported
	DroppedBytes int64 // of the old file
}

// ErrNoRecord is a file without a single whole record: it is left as it is.
var ErrNoRecord = errors.New("there is no whole record in it")

// ErrChanged is a file that somebody writes on.
var ErrChanged = errors.New("it changes while it is read")

// whole is what survey finds out about a file.
type whole struct {
	sound   []bool // of each record, in order
	kept    int
	damaged int
	end     int64 // of the last record that was written to its end
	missing int   // bytes of line ends behind that one that are not there
}

// survey reads a file to its end.
func survey(f io.Reader, o ReadOptions) (s whole, err error) {
	report := o.Report
	o.Report = func(f *Fault) {
		if f.Damage() {
			s.damaged++
		}
		if report != nil {
			report(f)
		}
	}
	r := NewReader(f, o)
	for {
		rec, err := r.Next()
		if err == io.EOF {
			return s, nil
		}
		if err != nil {
			return s, err
		}
		_, err = io.Copy(io.Discard, rec.Block)
		s.sound = append(s.sound, err == nil)
		if err == nil {
			s.kept++
		}
		if rec.end > 0 && (err == nil || isKind(err, Digest)) { // altered, but not unfinished
			s.end, s.missing = rec.end, rec.missing
			if rec.Compressed {
				s.missing = 0
			}
		}
	}
}

func isKind(err error, kind Kind) bool {
	var f *Fault
	return errors.As(err, &f) && f.Kind == kind
}

// Truncate cuts an unfinished file back to the end of its last whole record, and syncs it. Damage
// before that stays where it is, and so does a last record that merely is not what was sealed. A file that changes meanwhile is left alone, and so is one
// without a whole record. With dry nothing is changed.
func Truncate(f *os.File, o ReadOptions, dry bool) (Recovery, error) {
	size, err := sizeOf(f)
	if err != nil {
		return Recovery{}, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return Recovery{}, err
	}
	s, err := survey(f, o)
	if err != nil {
		return Recovery{}, err
	}
	rec := Recovery{Kept: s.kept, KeptBytes: s.end + int64(s.missing), Damaged: s.damaged, DroppedBytes: size - s.end}
	if s.kept == 0 {
		return rec, ErrNoRecord
	}
	if now, err := sizeOf(f); err != nil || now != size {
		return rec, errors.Join(err, ErrChanged)
	}
	if dry || s.end == size && s.missing == 0 {
		return rec, nil
	}
	return rec, cut(f, s)
}

func cut(f *os.File, s whole) error {
	if err := f.Truncate(s.end); err != nil {
		return err
	}
	if s.missing > 0 {
		if _, err := f.WriteAt([]byte("\r\n\r\n")[4-s.missing:], s.end); err != nil {
			return err
		}
	}
	return f.Sync()
}

func sizeOf(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Copy writes the whole records of a file to another place, as they are, and leaves out what
// is damaged. Records that shared a gzip member get one each. The file is read twice; one
// that changes meanwhile is an error.
func Copy(to io.Writer, f io.ReadSeeker, o ReadOptions) (Recovery, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return Recovery{}, err
	}
	s, err := survey(f, o)
	if err != nil {
		return Recovery{}, err
	}
	rec := Recovery{Kept: s.kept, Damaged: s.damaged}
	if s.kept == 0 {
		return rec, ErrNoRecord
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return rec, err
	}
	count := &counter{to: to}
	read, err := copySound(count, NewReader(f, ReadOptions{MaxHead: o.MaxHead, MaxFields: o.MaxFields, MaxBlock: o.MaxBlock}), s.sound)
	rec.KeptBytes, rec.DroppedBytes = count.n, size-read
	return rec, err
}

// copySound writes the records that were found sound, and returns how many bytes of the file
// they were.
func copySound(to io.Writer, r *Reader, sound []bool) (read int64, err error) {
	z := gzip.NewWriter(to)
	for i := 0; ; i++ {
		rec, err := r.Next()
		if err == io.EOF && i == len(sound) {
			return read, nil
		}
		if err == io.EOF || err == nil && i >= len(sound) {
			return read, ErrChanged
		}
		if err == nil && sound[i] {
			err = copyRecord(to, z, rec)
		}
		if errors.As(err, new(*Fault)) {
			return read, ErrChanged
		}
		if err != nil {
			return read, fmt.Errorf("cannot copy record %d: %w", i+1, err)
		}
		if sound[i] && rec.end > 0 {
			read += rec.end - rec.Offset
		}
	}
}

func copyRecord(to io.Writer, z *gzip.Writer, rec *Record) error {
	if rec.Compressed {
		z.Reset(to)
		to = z
	}
	if _, err := to.Write(rec.Head); err != nil {
		return err
	}
	if _, err := io.Copy(to, rec.Block); err != nil {
		return err
	}
	if _, err := io.WriteString(to, "\r\n\r\n"); err != nil {
		return err
	}
	if rec.Compressed {
		return z.Close()
	}
	return nil
}
