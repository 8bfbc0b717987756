package sqlite

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"srpump/pump/broker"
)

// locate is the absolute path a broker URL names: sqlite:///abs/pump.db or sqlite:relative.db.
func locate(rawURL string) (string, error) {
	rest, ok := strings.CutPrefix(rawURL, "sqlite:")
	if !ok {
		return "", connectFault(rawURL, broker.ErrUnsupported, "not a sqlite: URL", "")
	}
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		if !strings.HasPrefix(after, "/") {
			return "", connectFault(rawURL, broker.ErrUnreachable, "a file has no host",
				"write sqlite:///absolute/path or sqlite:relative/path")
		}
		rest = after
	}
	path, err := url.PathUnescape(rest)
	if err != nil {
		return "", connectFault(rawURL, broker.ErrUnreachable, err.Error(), "write a percent sign as %25")
	}
	if path == "" || strings.HasSuffix(path, "/") || strings.ContainsRune(path, 0) {
		return "", connectFault(rawURL, broker.ErrUnreachable, "no file is named", "write sqlite:///absolute/path/pump.db")
	}
	return filepath.Abs(path)
}

// prepare makes the directories (0700) and the file (0600), and sees that
// both can be written and lie on a file system of this machine.
func prepare(path string) error {
	if err := os.MkdirAll(path+".d", 0o700); err != nil {
		return unusable(path, err)
	}
	if err := localOnly(filepath.Dir(path)); err != nil {
		return connectFault(path, broker.ErrRefused, err.Error(),
			"several processes cannot share a database over a network; name a file on a local disk")
	}
	for _, dir := range []string{filepath.Dir(path), path + ".d"} {
		if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
			return unusable(path, &os.PathError{Op: "write to", Path: dir, Err: err})
		}
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return unusable(path, err)
	}
	return f.Close()
}

// localOnly refuses the file systems on which locks or shared memory do not
// hold between processes (statfs(2) lists the numbers).
func localOnly(dir string) error {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return err
	}
	name := networkName(uint32(s.Type))
	if name == "FUSE" {
		name = fuseName(dir)
	}
	if name == "" {
		return nil
	}
	return fmt.Errorf("%s is a network file system (%s)", dir, name)
}

func networkName(magic uint32) string {
	switch magic {
	case 0x6969:
		return "NFS"
	case 0x517b, 0xff534d42, 0xfe534d42:
		return "SMB"
	case 0x65735546:
		return "FUSE"
	case 0x01021997:
		return "9p"
	case 0x0bd00bd0:
		return "Lustre"
	case 0x00c36400:
		return "Ceph"
	case 0x5346414f, 0x6b414653:
		return "AFS"
	case 0x01161970:
		return "GFS2"
	case 0x7461636f:
		return "OCFS2"
	case 0x73757245:
		return "Coda"
	case 0x19830326:
		return "BeeGFS"
	case 0x47504653:
		return "GPFS"
	}
	return ""
}

// fuseName is the kind of FUSE mount dir lies on, or "" for those known to be local.
func fuseName(dir string) string {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "FUSE"
	}
	best, kind := "", "FUSE"
	for line := range strings.Lines(string(mounts)) {
		left, right, ok := strings.Cut(line, " - ")
		fields, rest := strings.Fields(left), strings.Fields(right)
		if !ok || len(fields) < 5 || len(rest) == 0 {
			continue
		}
		at := fields[4]
		if len(at) >= len(best) && (at == "/" || at == dir || strings.HasPrefix(dir, at+"/")) {
			best, kind = at, rest[0]
		}
	}
	switch kind {
	case "fuseblk", "fuse.fuse-overlayfs", "fuse.bindfs", "fuse.gocryptfs", "fuse.mergerfs":
		return ""
	}
	return kind
}

// unusable explains a path that cannot be opened or written.
func unusable(path string, err error) error {
	hint := "check the path, or name another file in the broker URL"
	switch {
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		hint = "the directory and the file must be writable for this user"
	case errors.Is(err, unix.EROFS):
		hint = "the file system is mounted read-only; name a file elsewhere"
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		hint = "free some space on that file system"
	}
	return connectFault(path, broker.ErrUnreachable, err.Error(), hint)
}
