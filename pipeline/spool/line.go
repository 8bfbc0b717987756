package spool

import (
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"srpump/pump/broker"
)

// A line is a message in a segment: its meta, and its body as text or, where it is none, in base64
// (sr_spool(1), SEGMENTS).
type line struct {
	meta
	Body   *string `json:"body,omitempty"`
	Body64 []byte  `json:"body64,omitempty"`
}

// encodeLine ends in a line feed.
func encodeLine(d *broker.Delivery, now time.Time) ([]byte, error) {
	m, err := metaOf(&d.Publishing)
	if err != nil {
		return nil, err
	}
	m.Received, m.Redelivered = now.UTC().Format(time.RFC3339Nano), d.Redelivered
	l := line{meta: m}
	if utf8.Valid(d.Body) {
		text := string(d.Body)
		l.Body = &text
	} else {
		l.Body64 = d.Body
	}
	return plainJSON(l)
}

// decodeLine is encodeLine backwards; the time is zero where the line does not say.
func decodeLine(b []byte) (p broker.Publishing, at time.Time, err error) {
	var l line
	if err = json.Unmarshal(b, &l); err != nil {
		return p, at, err
	}
	if p, err = l.publishing(); err != nil {
		return p, at, err
	}
	p.Body = l.Body64
	if l.Body != nil {
		p.Body = []byte(*l.Body)
	}
	if l.Received != "" {
		if at, err = time.Parse(time.RFC3339Nano, l.Received); err != nil {
			return p, at, fmt.Errorf("received is no time: %w", err)
		}
	}
	return p, at, nil
}
