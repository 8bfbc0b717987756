package export

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// hasTimeout is how long the API may take to say whether it knows a file.
const hasTimeout = 10 * time.Second

// Has tells whether the API knows a WARC file, by its id. It is asked once; a file is not known, too, when
// the API does not answer.
func (a *API) Has(ctx context.Context, id string) bool {
	ctx, cancel := context.WithTimeout(ctx, hasTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.base.JoinPath("warcs", url.PathEscape(id)).String()+"/", nil)
	if err != nil {
		return false
	}
	answer, err := a.client.Do(req)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}
