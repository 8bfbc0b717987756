package retry

import (
	"fmt"
	"os"
	"path/filepath"
)

// A SaveFile is what the option save writes to: lines of EncodeSaved, in the order of arrival.
type SaveFile struct{ store *store }

// OpenSave opens the file at path to add to it, made when missing with its directory. What a kill
// left of a last line stays, on a line of its own.
func OpenSave(path string) (*SaveFile, error) {
	err := os.MkdirAll(filepath.Dir(path), 0o775)
	if err == nil {
		var s *store
		if s, err = openStore(path, false, func(int64, []byte) error { return nil }); err == nil {
			return &SaveFile{s}, nil
		}
	}
	return nil, fmt.Errorf("cannot save to %q: %w", path, err)
}

// Append adds lines. When it returns nil all are on the disk, else none is.
func (s *SaveFile) Append(lines [][]byte) error {
	var b *batch
	for _, l := range lines {
		b = s.store.join(l, func(int64, error) {})
	}
	if b == nil {
		return nil
	}
	return s.store.wait(b)
}

// Close closes the file. Nothing can be appended after it.
func (s *SaveFile) Close() error {
	s.store.write.Lock()
	defer s.store.write.Unlock()
	if s.store.file == nil {
		return nil
	}
	return s.store.close()
}
