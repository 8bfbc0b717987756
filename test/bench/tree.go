package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// tree makes n files of a size, each of other random bytes, in one directory
// below root. Whoever calls removes it.
func (b *bed) tree(root string, n, size int) (string, error) {
	dir, err := b.fresh(root)
	if err != nil {
		return "", err
	}
	random := rand.NewChaCha8([32]byte{byte(b.count)})
	data := make([]byte, size)
	for i := range n {
		_, _ = random.Read(data) // never fails
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%06d", i)), data, 0o644); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// same says how two flat directories differ, if they do.
func same(want, got string) error {
	entries, err := os.ReadDir(want)
	if err != nil {
		return err
	}
	here, err := os.ReadDir(got)
	if err != nil {
		return err
	}
	if len(entries) != len(here) {
		return fmt.Errorf("%d of %d files arrived", len(here), len(entries))
	}
	for _, e := range entries {
		a, err := os.ReadFile(filepath.Join(want, e.Name()))
		if err != nil {
			return err
		}
		b, err := os.ReadFile(filepath.Join(got, e.Name()))
		if err != nil {
			return err
		}
		if !bytes.Equal(a, b) {
			return fmt.Errorf("%q arrived with other bytes", e.Name())
		}
	}
	return nil
}
