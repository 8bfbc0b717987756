// Command bench measures the commands of this tree, as processes and from
// outside, against what they are compared with, and prints one table.
// README.md beside it says how each figure comes about.
//
//	go run ./test/bench [-n rounds] [-scale factor] [-dir directory] [row ...]
//
// It is run from the root of the module. Its exit status tells whether
// everything could be measured, never whether a figure was reached.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// A row is one line of work of the table.
type row struct {
	name string
	run  func(context.Context, *bed) ([]finding, error)
}

func rows() []row {
	return []row{
		{"post-rabbit", postRabbit},
		{"post-sqlite", postSQLite},
		{"post-cold", postCold},
		{"post-blocks", postBlocks},
		{"winnow", winnowRow},
		{"winnow-memory", winnowMemory},
		{"subscribe-tmpfs", subscribeFast},
		{"subscribe-disk", subscribeDisk},
		{"stage-cat", stageRow},
		{"one-gib", oneGiB},
		{"blocks-http", blocksHTTP},
		{"blocks-http-40ms", blocksDelayed},
		{"blocks-changed", blocksChanged},
		{"sftp-1g", sftp1g},
		{"sftp-small", sftpSmall},
		{"transfer-memory", transferMemory},
		{"walk-million", walkMillion},
		{"shovel", shovelRow},
		{"sr-status", statusRow},
		{"sr-start", startRow},
		{"idle", idleRow},
		{"v03-codec", codecRow},
		{"hook-exec", hookRow},
		{"mirror-renames", renameRow},
		{"warc", warcRow},
		{"sfm-items", itemsRow},
		{"sfm-export", exportRow},
		{"sfm-jetstream", jetstreamRow},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := bench(ctx, os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

func bench(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	o := options{}
	flags.IntVar(&o.rounds, "n", 5, "rounds after the warm-up")
	flags.Float64Var(&o.scale, "scale", 1, "size of the work, as a part of the full one")
	flags.StringVar(&o.disk, "dir", ".", "directory on the disk to be measured")
	flags.StringVar(&o.fast, "tmpfs", "/dev/shm", "directory in memory")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	wanted, err := choose(flags.Args())
	if err != nil {
		return err
	}
	b, err := newBed(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	return measure(ctx, b, wanted)
}

// choose returns the rows named, in the order of the table, or all.
func choose(names []string) ([]row, error) {
	all := rows()
	if len(names) == 0 {
		return all, nil
	}
	want := make(map[string]bool)
	for _, n := range names {
		want[n] = true
	}
	var chosen []row
	for _, r := range all {
		if want[r.name] {
			chosen = append(chosen, r)
			delete(want, r.name)
		}
	}
	for n := range want {
		return nil, fmt.Errorf("cannot measure %q: there is no such row", n)
	}
	return chosen, nil
}

// measure prints each row as it is ready. A row that fails does not keep the
// others from being measured.
func measure(ctx context.Context, b *bed, wanted []row) error {
	fmt.Println(b.machine())
	fmt.Println()
	printHead(os.Stdout)
	var failed error
	for _, r := range wanted {
		fmt.Fprintf(os.Stderr, "%s\n", r.name)
		found, err := r.run(ctx, b)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("cannot measure %s: %w", r.name, err))
		}
		for _, f := range found {
			printFinding(os.Stdout, r.name, f)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return failed
}
