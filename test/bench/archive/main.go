// Command archive makes a file of pages, or writes such a file as the records of a WARC file, or
// makes a WARC file of statuses.
//
//	archive pages COUNT FILE
//	archive write FILE WARC
//	archive items COUNT WARC
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"

	"srpump/pipeline/warc"
)

// pageSize is the length of one HTTP response, in bytes.
const pageSize = 20 << 10

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: archive pages count file | write file warc | items count warc")
		os.Exit(2)
	}
	run := map[string]func(a, b string) error{"pages": pages, "write": write, "items": timelines}[os.Args[1]]
	if err := run(os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintf(os.Stderr, "archive: %v\n", err)
		os.Exit(1)
	}
}

// pages writes responses whose text has words of unequal frequency between tags, so that it
// compresses about as pages do.
func pages(count, name string) error {
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	to := bufio.NewWriter(f)
	random := rand.New(rand.NewPCG(5, 6))
	words := vocabulary(random)
	for range n {
		fmt.Fprintf(to, "%s", onePage(random, words))
	}
	return errors.Join(to.Flush(), f.Close())
}

// vocabulary is the words of the texts.
func vocabulary(random *rand.Rand) []string {
	words := make([]string, 3000)
	for i := range words {
		for range 2 + random.IntN(9) {
			words[i] += string("etaoinshrdlucmfwyp"[random.IntN(18)])
		}
	}
	return words
}

func onePage(random *rand.Rand, words []string) string {
	var b strings.Builder
	b.WriteString("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n")
	for b.Len() < pageSize {
		fmt.Fprintf(&b, "<div class=\"article-%s\"><p>", words[random.IntN(20)])
		for range 15 {
			b.WriteString(words[int(random.ExpFloat64()*150)%len(words)] + " ")
		}
		b.WriteString("</p></div>\n")
	}
	return b.String()[:pageSize]
}

func write(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer out.Close()
	w, err := warc.NewWriter(out, warc.WriteOptions{})
	if err != nil {
		return err
	}
	err = records(w, in)
	return errors.Join(err, w.Close(), out.Close())
}

func records(w *warc.Writer, in io.Reader) error {
	buffered := bufio.NewReaderSize(in, 1<<20)
	now := time.Now()
	for i := 0; ; i++ {
		if _, err := buffered.Peek(1); err == io.EOF {
			return nil
		}
		r := warc.New(warc.V10, warc.Response, fmt.Sprintf("http://news.example/%d", i), now)
		r.Block, r.Size = io.LimitReader(buffered, pageSize), pageSize
		if _, err := w.Add(r); err != nil {
			return err
		}
	}
}
