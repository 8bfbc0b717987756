package apitest

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
)

// Status answers with a status, fields of the header given as name and value in turn, and a
// body of JSON that says nothing.
func Status(status int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header()[header[i]] = []string{header[i+1]} // in the case given
		}
		answerJSON(w, status, object{"error": http.StatusText(status)})
	}
}

// HTML answers with a page, as the machines before an API do.
func HTML(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	_, _ = io.WriteString(w, "<!DOCTYPE html>\n<html><body><h1>We are down for maintenance</h1></body></html>\n")
}

// Truncated answers with less than it says, and cuts the connection.
func Truncated(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", "4000")
	_, _ = io.WriteString(w, `{"data":[{"id":"1`)
	panic(http.ErrAbortHandler)
}

// Short answers with JSON that is not whole, as a whole answer.
func Short(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"data":[{"id":"1`)
}

// Bomb answers with a gzip body of 1 MiB on the wire that becomes a GiB of blanks: of one member,
// again and again.
func Bomb(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Encoding", "gzip")
	var member bytes.Buffer
	z := gzip.NewWriter(&member)
	_, err := z.Write(bytes.Repeat([]byte(" "), 1<<20))
	if err == nil {
		err = z.Close()
	}
	for range 1 << 10 {
		if err == nil {
			_, err = w.Write(member.Bytes())
		}
	}
}

// Elsewhere redirects to a URL.
func Elsewhere(status int, url string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, url, status) }
}

// Held answers what another handler does after telling that a request is there and
// waiting until it may go on: a test does something in the midst of a walk.
func Held(arrived chan<- struct{}, goOn <-chan struct{}, answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case arrived <- struct{}{}:
		case <-r.Context().Done():
			return
		}
		select {
		case <-goOn:
		case <-r.Context().Done():
			return
		}
		answer(w, r)
	}
}

// Error answers with an error in the form of the AT protocol.
func Error(status int, name, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, status, object{"error": name, "message": message})
	}
}
