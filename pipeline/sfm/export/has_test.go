package export

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// A file is known when the API has a page of it, and not when there is no answer.
func TestHas(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/warcs/abc/" {
			http.NotFound(w, r)
		}
	}))
	api, err := NewAPI(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if !api.Has(t.Context(), "abc") || api.Has(t.Context(), "abd") {
		t.Error("the wrong one is known")
	}
	server.Close()
	if api.Has(t.Context(), "abc") {
		t.Error("it is known to nobody")
	}
}
