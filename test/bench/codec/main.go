// Command codec reads and writes one announcement so many times, and prints the processor time
// it took of each, in microseconds.
//
//	codec v02|v03 COUNT
package main

import (
	"fmt"
	"maps"
	"os"
	"strconv"
	"syscall"
	"time"

	"srpump/partition"
	"srpump/post"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: codec v02|v03 count")
		os.Exit(2)
	}
	if err := measure(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintf(os.Stderr, "codec: %v\n", err)
		os.Exit(1)
	}
}

func measure(version, count string) error {
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 {
		return fmt.Errorf("bad count %q", count)
	}
	m, err := post.Encode(announcement(version))
	if err != nil {
		return err
	}
	begin := used()
	for range n {
		// as an engine delivers it, in a table of its own
		a, err := post.Decode(m.Topic, maps.Clone(m.Headers), m.Body)
		if err != nil {
			return err
		}
		if _, err := post.Encode(a); err != nil {
			return err
		}
	}
	fmt.Printf("%.3f\n", (used()-begin).Seconds()*1e6/float64(n))
	return nil
}

// announcement is one of a whole file, with the headers sr_post gives it.
func announcement(version string) *post.Announcement {
	stamp := post.At(time.Date(2026, 11, 21, 5, 50, 32, 792484045, time.UTC))
	return &post.Announcement{
		Topic: version + ".post.sub", Time: stamp, Base: "http://h.example/", Path: "sub/foo.txt",
		Sum:   post.Fingerprint{Method: post.SumMD5, Value: "6f5902ac237024bdd0c176cb93063dc4"},
		Block: partition.WholeFile(12),
		Headers: map[string]any{post.HeaderSource: "bench", post.HeaderMode: "755", post.HeaderMtime: "20200102030405.00",
			post.HeaderAtime: stamp.String()},
	}
}

// used is the processor time of this process so far, that of its collector included.
func used() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails for no process that asks for its own
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
