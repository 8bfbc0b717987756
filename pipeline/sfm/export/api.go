package export

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// An API is the REST API of SFM: what collections there are, and which WARC files they have. It asks
// for no password, and gives none.
type API struct {
	// Log is told of each question that is asked again.
	Log *slog.Logger

	base   *url.URL
	client *http.Client
	wait   func(ctx context.Context, d time.Duration) error
}

const (
	apiRoot      = "/api/v1/"
	pageSize     = 250
	maxPage      = 64 << 20 // bytes of an answer
	maxPages     = 100_000
	apiTries     = 5
	apiPause     = time.Second // before the second try, doubling
	apiTimeout   = time.Minute // of a page
	maxRedirects = 5
)

// NewAPI is the API below an address such as http://api:8080.
func NewAPI(base string) (*API, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is no address such as http://api:8080", base)
	}
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), strings.TrimSuffix(apiRoot, "/")) + apiRoot
	u.RawQuery, u.Fragment = "", ""
	client := &http.Client{Timeout: apiTimeout, CheckRedirect: stay}
	return &API{Log: slog.New(slog.DiscardHandler), base: u, client: client, wait: pause}, nil
}

// errElsewhere is an answer that sends to another host.
var errElsewhere = errors.New("it sends to another host")

// stay follows a redirection on the host that was named, as from http to https.
func stay(r *http.Request, via []*http.Request) error {
	if r.URL.Hostname() != via[0].URL.Hostname() || len(via) > maxRedirects {
		return errElsewhere
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A page is one answer to a question that has many.
type page struct {
	Count   int             `json:"count"`
	Next    *string         `json:"next"`
	Results json.RawMessage `json:"results"`
}

// all asks for every page of a list, and gives the results of each to take, which tells how many there
// are, and how many of them are new. It returns how many pages there were.
//
// Of the address of the next page only the query is used: behind a proxy the server may think it has
// another name, and an answer must not send us elsewhere.
func (a *API) all(ctx context.Context, list string, q url.Values, take func(json.RawMessage) (n, fresh int, err error)) (pages int, err error) {
	q.Set("limit", fmt.Sprint(pageSize))
	query, got := q.Encode(), 0
	for pages = 1; ; pages++ {
		p, err := a.page(ctx, list, query)
		if err != nil {
			return pages, err
		}
		n, fresh, err := take(p.Results)
		if err != nil {
			return pages, fmt.Errorf("cannot read the list of %s at %s: %w", list, a.base, err)
		}
		got += n
		if p.Next == nil || *p.Next == "" {
			return pages, nil
		}
		next, err := url.Parse(*p.Next)
		if err != nil || next.RawQuery == query || n == 0 || pages == maxPages || endless(got, fresh, p.Count) {
			return pages, fmt.Errorf("the list of %s at %s has no end", list, a.base)
		}
		query = next.RawQuery
	}
}

// endless tells of a list that has brought more than it said it has, though it may change meanwhile.
func endless(got, fresh, count int) bool {
	return fresh == 0 && got > 2*count || got > 2*count+pageSize
}

// page asks for one, and again when the server cannot answer now.
func (a *API) page(ctx context.Context, list, query string) (*page, error) {
	for try := 1; ; try++ {
		p, again, err := a.ask(ctx, list, query)
		if err == nil {
			return p, nil
		}
		err = fmt.Errorf("cannot ask for %s: %w", list, err)
		if !again || try == apiTries {
			return nil, err
		}
		a.Log.Warn("asking again", "list", list, "try", try, "error", err)
		if a.wait(ctx, apiPause<<(try-1)) != nil {
			return nil, err // which says more than that it was interrupted
		}
	}
}

// ask asks once; again tells that another try may help.
func (a *API) ask(ctx context.Context, list, query string) (p *page, again bool, err error) {
	u := a.base.JoinPath(list + "/")
	u.RawQuery = query
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, false, err
	}
	r.Header.Set("Accept", "application/json")
	answer, err := a.client.Do(r)
	if err != nil {
		return nil, ctx.Err() == nil && !errors.Is(err, errElsewhere), err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, answer.StatusCode/100 == 5 || answer.StatusCode == http.StatusTooManyRequests, fmt.Errorf("%s answers %s", u.Redacted(), answer.Status)
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxPage+1))
	switch {
	case err != nil:
		return nil, ctx.Err() == nil, err
	case len(body) > maxPage:
		return nil, false, fmt.Errorf("the answer of %s is longer than %d MiB", u.Redacted(), maxPage>>20)
	}
	p = new(page)
	if err := json.Unmarshal(body, p); err != nil || p.Results == nil {
		return nil, false, &AnswerError{u.Redacted(), list, body, err}
	}
	return p, false, nil
}
