// Command fingerprints fills a winnowing cache as sr_winnow would, and prints
// its own VmRSS in bytes, a line each time it holds so many.
//
//	fingerprints DIRECTORY COUNT...
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"srpump/partition"
	"srpump/post"
	"srpump/winnow"
)

// batch is how many are committed at a time.
const batch = 200

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: fingerprints directory count ...")
		os.Exit(2)
	}
	if err := fill(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintf(os.Stderr, "fingerprints: %v\n", err)
		os.Exit(1)
	}
}

func fill(dir string, marks []string) error {
	c, err := winnow.Open(winnow.Options{TTL: time.Hour, Dir: dir})
	if err != nil {
		return err
	}
	defer c.Close()
	have := 0
	for _, m := range marks {
		want, err := strconv.Atoi(m)
		if err != nil {
			return err
		}
		for ; have < want; have = min(have+batch, want) {
			if err := commit(c, have, min(have+batch, want)); err != nil {
				return err
			}
		}
		rss, err := resident()
		if err != nil {
			return err
		}
		fmt.Println(rss)
	}
	return nil
}

// commit passes on announcements from to to, of other paths and other bytes.
func commit(c *winnow.Cache, from, to int) error {
	tokens := make([]winnow.Token, 0, batch)
	for i := from; i < to; i++ {
		a := &post.Announcement{
			Time: post.At(time.Now()), Base: "http://127.0.0.1:8000/",
			Path:  fmt.Sprintf("20261121/source/data/d%03d/file%08d.grib2", i%1000, i),
			Sum:   post.Fingerprint{Method: post.SumMD5, Value: fmt.Sprintf("%032x", i+1)},
			Block: partition.WholeFile(4096),
		}
		v, token := c.Offer(a)
		if v != winnow.Fresh {
			return fmt.Errorf("announcement %d is %v", i, v)
		}
		tokens = append(tokens, token)
	}
	return c.CommitAll(tokens)
}

func resident() (int, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kib := 0
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		return 0, fmt.Errorf("cannot read VmRSS: %w", err)
	}
	return kib << 10, nil
}
