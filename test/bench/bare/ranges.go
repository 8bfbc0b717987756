package main

import (
	"crypto/md5"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
)

// ranges fetches a file of size bytes in blocks, so many at a time, hashes each and writes it at its place.
func ranges(url, path, size, block, workers string) error {
	var n [3]int64
	for i, s := range []string{size, block, workers} {
		var err error
		if n[i], err = strconv.ParseInt(s, 10, 64); err != nil {
			return err
		}
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	todo, failed := make(chan int64), make(chan error, n[2])
	var over sync.WaitGroup
	for range n[2] {
		over.Go(func() {
			buf := make([]byte, 256<<10)
			for at := range todo {
				if err := oneRange(url, f, at, min(n[1], n[0]-at), buf); err != nil {
					select {
					case failed <- err:
					default:
					}
				}
			}
		})
	}
	for at := int64(0); at < n[0]; at += n[1] {
		todo <- at
	}
	close(todo)
	over.Wait()
	close(failed)
	return <-failed
}

func oneRange(url string, f *os.File, at, n int64, buf []byte) error {
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", at, at+n-1))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	h := md5.New()
	m, err := io.CopyBuffer(io.MultiWriter(h, io.NewOffsetWriter(f, at)), struct{ io.Reader }{resp.Body}, buf)
	if err == nil && m != n {
		err = io.ErrUnexpectedEOF
	}
	return err
}
