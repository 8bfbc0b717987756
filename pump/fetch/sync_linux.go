package fetch

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncFilesystem makes everything written to f's filesystem durable; see syncfs(2).
func syncFilesystem(f *os.File) error { return unix.Syncfs(int(f.Fd())) }

// wroteBack reports whether the kernel failed to write bytes of f since it was opened, as fsync(2) would, and writes
// nothing itself; see sync_file_range(2).
func wroteBack(f *os.File) error {
	return unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WAIT_BEFORE)
}
