package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"srpump/test/rabbit"
)

type options struct {
	rounds     int
	scale      float64
	disk, fast string // directories: on the disk measured, in memory
}

// A bed is what the rows run on: directories that are removed at the end, the
// programs built into them, and servers started when first needed.
type bed struct {
	rounds int
	scale  float64
	disk   string // ours, on the disk measured
	fast   string // ours, in memory
	bin    string

	within []string // what starts programs elsewhere, in front of their command lines

	node  *rabbit.Node
	tap   *tap
	gauge *gauge
	web   *web
	count int // of directories made
}

func newBed(ctx context.Context, o options) (*bed, error) {
	b := &bed{rounds: o.rounds, scale: o.scale}
	var err error
	if b.disk, err = os.MkdirTemp(o.disk, ".bench-"); err == nil {
		b.disk, err = filepath.Abs(b.disk)
	}
	if err == nil {
		b.fast, err = os.MkdirTemp(o.fast, "srpump-bench-")
	}
	if err == nil {
		err = b.build(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot prepare: %w", err), b.close())
	}
	return b, nil
}

// build makes the commands as the Makefile does, and the programs they are
// compared with.
func (b *bed) build(ctx context.Context) error {
	b.bin = filepath.Join(b.disk, "bin")
	for _, args := range [][]string{
		{"make", "build", "BIN=" + b.bin, "VERSION=bench"},
		{"go", "build", "-trimpath", "-ldflags", "-s -w", "-o", b.bin, "./test/bench/archive", "./test/bench/bare", "./test/bench/codec", "./test/bench/cold", "./test/bench/fingerprints"},
	} {
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
		if said, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("cannot run %q: %w: %s", args, err, tail(said))
		}
	}
	return nil
}

func (b *bed) program(name string) string { return filepath.Join(b.bin, name) }

// close ends the servers and removes everything.
func (b *bed) close() error {
	if b.web != nil {
		b.web.close()
	}
	if b.gauge != nil {
		b.gauge.close()
	}
	if b.tap != nil {
		b.tap.close()
	}
	if b.node != nil {
		b.node.Close()
	}
	var errs []error
	for _, dir := range []string{b.disk, b.fast} {
		if dir != "" {
			errs = append(errs, os.RemoveAll(dir))
		}
	}
	return errors.Join(errs...)
}

// of is n at the scale of this run, at least 1.
func (b *bed) of(n int) int { return max(1, int(float64(n)*b.scale)) }

// fresh makes a new directory below one of the two roots.
func (b *bed) fresh(root string) (string, error) {
	b.count++
	dir := filepath.Join(root, fmt.Sprintf("d%d", b.count))
	return dir, os.Mkdir(dir, 0o755)
}

// fewFiles may be removed from a disk between two runs. ext4 does not use the
// inode of a removed file again for a minute, and looks at each such inode
// whenever it makes a file: after the removal of thousands it makes them
// several times slower, and the next run would be measured at that.
const fewFiles = 100

// remove removes a directory of n files, or leaves it to close.
func (b *bed) remove(dir string, n int) {
	if n <= fewFiles || strings.HasPrefix(dir, b.fast+"/") {
		_ = os.RemoveAll(dir) // what stays is removed, or complained about, by close
	}
}

// broker starts the private node once, with its tap and gauge.
func (b *bed) broker() error {
	if b.node != nil {
		return nil
	}
	dir, err := b.fresh(b.disk)
	if err != nil {
		return err
	}
	if b.node, err = rabbit.Launch(dir); err != nil {
		return err
	}
	if b.tap, err = openTap(b.node.AdminURL()); err != nil {
		return err
	}
	if b.gauge, err = openGauge(b.node); err != nil {
		return err
	}
	return b.warm()
}

// warmUp is how many messages a new node is given before it counts: its first
// ten thousands take it two to four times as long as those after.
const warmUp = 60_000

func (b *bed) warm() error {
	if err := b.tap.bound("xs_bench", "q_bench"); err != nil {
		return err
	}
	all, keys := interleaved(b.of(warmUp))
	if err := b.tap.send("xs_bench", all, keys); err != nil {
		return err
	}
	return b.tap.purge("q_bench")
}

// machine is a line on where the figures come from.
func (b *bed) machine() string {
	var u unix.Utsname
	_ = unix.Uname(&u) // the line is for people
	return fmt.Sprintf("%d × %s, Linux %s, %s, disk %s, scale %g, %d rounds",
		runtime.NumCPU(), processor(), unix.ByteSliceToString(u.Release[:]), runtime.Version(), filesystem(b.disk), b.scale, b.rounds)
}

func processor() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	_, rest, _ := strings.Cut(string(info), "model name\t: ")
	name, _, _ := strings.Cut(rest, "\n")
	return name
}

func filesystem(dir string) string {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return "unknown"
	}
	switch s.Type {
	case unix.EXT4_SUPER_MAGIC:
		return "ext4"
	case unix.XFS_SUPER_MAGIC:
		return "xfs"
	case unix.BTRFS_SUPER_MAGIC:
		return "btrfs"
	case unix.TMPFS_MAGIC:
		return "tmpfs"
	case unix.OVERLAYFS_SUPER_MAGIC:
		return "overlay"
	}
	return fmt.Sprintf("%#x", s.Type)
}
