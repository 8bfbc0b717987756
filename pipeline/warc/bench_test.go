package warc

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

// pages are responses of 20 KB that compress like pages do.
func pages(n int) []string {
	r := rand.New(rand.NewPCG(5, 6))
	words := make([]string, 2000)
	for i := range words {
		b := make([]byte, 2+r.IntN(9))
		for j := range b {
			b[j] = "etaoinshrdlucmfwyp"[r.IntN(18)]
		}
		words[i] = string(b)
	}
	out := make([]string, n)
	for i := range out {
		var b strings.Builder
		for b.Len() < 20_000 {
			fmt.Fprintf(&b, `<p class="%s">`, words[r.IntN(20)])
			for range 12 {
				b.WriteString(words[int(r.ExpFloat64()*200)%len(words)] + " ")
			}
			b.WriteString("</p>\n")
		}
		out[i] = fmt.Sprintf(page, b.Len(), b.String())
	}
	return out
}

func BenchmarkWrite(b *testing.B) {
	all := pages(50)
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			b.ReportAllocs()
			w, err := NewWriter(io.Discard, WriteOptions{Workers: workers})
			if err != nil {
				b.Fatal(err)
			}
			for i := range b.N {
				text := all[i%len(all)]
				b.SetBytes(int64(len(text)))
				if _, err := w.Add(New(V10, Response, "http://a.example/", at).With(text)); err != nil {
					b.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	var records []*Record
	for _, text := range pages(50) {
		records = append(records, New(V10, Response, "http://a.example/", at).With(text))
	}
	file, _ := written(b, WriteOptions{}, records...)
	b.ReportAllocs()
	b.SetBytes(20_000)
	in := bytes.NewReader(file)
	r := NewReader(in, ReadOptions{})
	for range b.N {
		_, err := r.Next()
		if err == io.EOF {
			in.Reset(file)
			r = NewReader(in, ReadOptions{})
			_, err = r.Next()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
