package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// An AnswerError is an answer that is none of the REST API of SFM: most likely another server was asked.
type AnswerError struct {
	URL  string
	list string
	body []byte
	err  error // of reading it; nil when it has not the form
}

// Error says what it is instead.
func (e *AnswerError) Error() string {
	text := bytes.TrimSpace(e.body)
	what := "it is not a list of " + e.list
	switch {
	case len(text) == 0:
		what = "it is empty"
	case text[0] == '<':
		what = "it is a page, not JSON"
	case e.damaged():
		what = "it is damaged JSON: " + e.err.Error()
	}
	return fmt.Sprintf("the answer of %s cannot be read: %s", e.URL, what)
}

// damaged tells JSON that is broken off from JSON of another form.
func (e *AnswerError) damaged() bool { return errors.As(e.err, new(*json.SyntaxError)) }

// Unwrap is the error of reading it.
func (e *AnswerError) Unwrap() error { return e.err }
