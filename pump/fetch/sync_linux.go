package fetch

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncFilesystem makes everything written to f's filesystem durable; see syncfs(2).
func syncFilesystem(f *os.File) error { return unix.Syncfs(int(f.Fd())) }
