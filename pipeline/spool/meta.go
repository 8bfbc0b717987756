package spool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"srpump/pump/broker"
)

// A meta is what belongs to a message besides its body, as the file beside it has it
// (sr_spool(1), THE META). Members that are empty are left out.
type meta struct {
	Exchange    string          `json:"exchange"`
	Key         string          `json:"key"`
	Key64       []byte          `json:"key64,omitempty"` // in place of key where that is no text
	Received    string          `json:"received,omitempty"`
	Redelivered bool            `json:"redelivered,omitempty"`
	Properties  properties      `json:"properties"`
	Headers     json.RawMessage `json:"headers,omitempty"`
}

// properties are those of AMQP 0-9-1 under its own names.
type properties struct {
	ContentType     string `json:"content_type,omitempty"`
	ContentEncoding string `json:"content_encoding,omitempty"`
	DeliveryMode    uint8  `json:"delivery_mode"` // 2 is persistent
	Priority        uint8  `json:"priority"`
	CorrelationID   string `json:"correlation_id,omitempty"`
	ReplyTo         string `json:"reply_to,omitempty"`
	Expiration      string `json:"expiration,omitempty"` // milliseconds
	MessageID       string `json:"message_id,omitempty"`
	Timestamp       *int64 `json:"timestamp,omitempty"` // seconds since 1970
	Type            string `json:"type,omitempty"`
	UserID          string `json:"user_id,omitempty"`
	AppID           string `json:"app_id,omitempty"`
	// Raw holds, by name, what of the above is no text.
	Raw map[string][]byte `json:"raw,omitempty"`
}

// texts are the properties that are text, by name.
func (p *properties) texts() map[string]*string {
	return map[string]*string{
		"content_type": &p.ContentType, "content_encoding": &p.ContentEncoding, "correlation_id": &p.CorrelationID,
		"reply_to": &p.ReplyTo, "expiration": &p.Expiration, "message_id": &p.MessageID, "type": &p.Type,
		"user_id": &p.UserID, "app_id": &p.AppID,
	}
}

const (
	transient  = 1
	persistent = 2
)

// metaOf is everything of a publishing but its body.
func metaOf(p *broker.Publishing) (meta, error) {
	m := meta{Exchange: p.Exchange, Key: p.Key, Properties: properties{
		ContentType: p.ContentType, ContentEncoding: p.ContentEncoding, DeliveryMode: persistent, Priority: p.Priority,
		CorrelationID: p.CorrelationID, ReplyTo: p.ReplyTo, Expiration: p.Expiration, MessageID: p.MessageID,
		Type: p.Type, UserID: p.UserID, AppID: p.AppID,
	}}
	if p.Transient {
		m.Properties.DeliveryMode = transient
	}
	if !p.Timestamp.IsZero() {
		s := p.Timestamp.Unix()
		m.Properties.Timestamp = &s
	}
	for name, text := range m.Properties.texts() {
		if !utf8.ValidString(*text) {
			if m.Properties.Raw == nil {
				m.Properties.Raw = make(map[string][]byte)
			}
			m.Properties.Raw[name], *text = []byte(*text), ""
		}
	}
	if !utf8.ValidString(m.Key) {
		m.Key, m.Key64 = "", []byte(m.Key)
	}
	if len(p.Headers) == 0 {
		return m, nil
	}
	members, err := headersJSON(p.Headers)
	if err == nil {
		m.Headers, err = plainJSON(members)
	}
	return m, err
}

// publishing is metaOf backwards.
func (m *meta) publishing() (broker.Publishing, error) {
	q := m.Properties
	for name, text := range q.texts() {
		if raw, odd := q.Raw[name]; odd {
			*text = string(raw)
		}
	}
	p := broker.Publishing{
		Exchange: m.Exchange, Key: m.Key, ContentType: q.ContentType, ContentEncoding: q.ContentEncoding,
		Transient: q.DeliveryMode == transient, Priority: q.Priority, Expiration: q.Expiration, CorrelationID: q.CorrelationID,
		ReplyTo: q.ReplyTo, MessageID: q.MessageID, Type: q.Type, UserID: q.UserID, AppID: q.AppID,
	}
	if len(m.Key64) > 0 {
		p.Key = string(m.Key64)
	}
	if q.Timestamp != nil {
		p.Timestamp = time.Unix(*q.Timestamp, 0).UTC()
	}
	var err error
	if p.Headers, err = readHeaders(m.Headers); err != nil {
		return p, err
	}
	if q.DeliveryMode > persistent {
		return p, fmt.Errorf("delivery_mode is %d, not 1 or 2", q.DeliveryMode)
	}
	return p, nil
}

// encodeMeta is the file beside a body: one line of JSON.
func encodeMeta(m meta) ([]byte, error) { return plainJSON(m) }

// plainJSON leaves <, > and & as they are, for people.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// decodeMeta refuses members it does not know: a misspelt property would be lost unseen.
func decodeMeta(b []byte) (m meta, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err = d.Decode(&m); err == nil && d.More() {
		err = errors.New("more than one value")
	}
	return m, err
}
