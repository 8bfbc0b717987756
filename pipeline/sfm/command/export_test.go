package command

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A list that is interrupted while the server is asked again ends as that.
func TestListInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		cancel()
	}))
	defer s.Close()
	err := Export{}.Run(ctx, []string{"-list", "-a", s.URL, "c"}, strings.NewReader(""), io.Discard, nil)
	if !errors.As(err, new(interrupted)) || err.Error() != "the list of WARC files was interrupted" {
		t.Errorf("ended with %v", err)
	}
}
