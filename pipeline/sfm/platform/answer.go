package platform

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"srpump/pipeline/sfm/harvest"
)

// A statusError is an answer that says no.
type statusError struct {
	status int
	body   []byte
}

func (e *statusError) Error() string {
	return fmt.Sprintf("the answer is %d %s", e.status, http.StatusText(e.status))
}

// statusOf is the status of the answer an error speaks of, or 0.
func statusOf(err error) int {
	var e *statusError
	if errors.As(err, &e) {
		return e.status
	}
	return 0
}

// get fetches a JSON document and reads it. An answer of another status than 200 is a
// *statusError, within an error that names the URL without its query, which may hold secrets.
func get(ctx context.Context, w *harvest.Walk, at string, h http.Header, into any) error {
	answer, err := w.Get(ctx, at, h)
	if err != nil {
		return err
	}
	return read(answer, at, into)
}

// read reads the answer to a request for a JSON document.
func read(answer *harvest.Answer, at string, into any) error {
	if answer.Status != http.StatusOK {
		return fmt.Errorf("cannot get %q: %w", nameOf(at), &statusError{answer.Status, answer.Body})
	}
	if answer.Cut {
		return fmt.Errorf("cannot read the answer of %q: it is too long", nameOf(at))
	}
	if err := json.Unmarshal(answer.Body, into); err != nil {
		if bytes.HasPrefix(bytes.TrimSpace(answer.Body), []byte("<")) {
			err = errors.New("it is a page, not JSON")
		}
		return fmt.Errorf("cannot read the answer of %q: %w", nameOf(at), err)
	}
	return nil
}

// nameOf is a URL as it may be told: without its query and user.
func nameOf(at string) string {
	u, err := url.Parse(at)
	if err != nil {
		return "a URL that is none"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// query puts a path and parameters, name and value in turn, behind a base; those with an empty
// value are left out. The order stays, so that the URI of a record reads as documented.
func query(base, path string, params ...string) string {
	var q bytes.Buffer
	for i := 0; i+1 < len(params); i += 2 {
		if params[i+1] == "" {
			continue
		}
		if q.Len() > 0 {
			q.WriteByte('&')
		}
		q.WriteString(params[i] + "=" + url.QueryEscape(params[i+1]))
	}
	if q.Len() == 0 {
		return base + path
	}
	return base + path + "?" + q.String()
}

// bearer is the header of a request with a token, or without one.
func bearer(token string) http.Header {
	if token == "" {
		return nil
	}
	return http.Header{"Authorization": {"Bearer " + token}}
}
