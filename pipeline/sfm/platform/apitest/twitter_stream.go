package apitest

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Rules are the values of the rules of the filtered stream.
func (m *Twitter) Rules() (out []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.rules {
		out = append(out, r["value"].(string))
	}
	return out
}

// Rule adds a rule somebody else left there.
func (m *Twitter) Rule(value string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.addRule(value, "")
}

func (m *Twitter) addRule(value, tag string) object {
	m.next++
	r := object{"id": strconv.FormatInt(m.next, 10), "value": value}
	if tag != "" {
		r["tag"] = tag
	}
	m.rules = append(m.rules, r)
	return r
}

func (m *Twitter) getRules(w http.ResponseWriter, _ *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	answer := object{"meta": object{"sent": "2026-11-01T00:00:00.000Z", "result_count": len(m.rules)}}
	if len(m.rules) > 0 {
		answer["data"] = m.rules
	}
	answerJSON(w, 200, answer)
}

func (m *Twitter) setRules(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Add    []struct{ Value, Tag string }
		Delete struct{ IDs []string }
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		answerJSON(w, 400, object{"title": "Invalid Request"})
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if body.Delete.IDs != nil {
		m.rules = slices.DeleteFunc(m.rules, func(r object) bool { return slices.Contains(body.Delete.IDs, r["id"].(string)) })
		answerJSON(w, 200, object{"meta": object{"summary": object{"deleted": len(body.Delete.IDs), "not_deleted": 0}}})
		return
	}
	added, errors := []object{}, []object{}
	for _, a := range body.Add {
		switch {
		case strings.Contains(a.Value, "(("):
			errors = append(errors, object{"value": a.Value, "title": "UnprocessableEntity", "details": []string{"missing ')'"}, "type": "https://api.twitter.com/2/problems/invalid-rules"})
		case len(m.rules) >= 25:
			errors = append(errors, object{"value": a.Value, "title": "RulesCapExceeded", "type": "https://api.twitter.com/2/problems/rule-cap"})
		default:
			added = append(added, m.addRule(a.Value, a.Tag))
		}
	}
	answer := object{"meta": object{"summary": object{"created": len(added), "not_created": len(errors)}}, "data": added}
	if len(errors) > 0 {
		answer["errors"] = errors
	}
	answerJSON(w, 201, answer)
}

func (m *Twitter) stream2(w http.ResponseWriter, r *http.Request) {
	m.stream(w, r, func(t tweet) any { return object{"data": form2(t), "matching_rules": []any{object{"id": "1"}}} })
}

func (m *Twitter) stream1(w http.ResponseWriter, r *http.Request) {
	if r.ParseForm() != nil || r.PostForm.Get("track")+r.PostForm.Get("follow")+r.PostForm.Get("locations") == "" {
		http.Error(w, "No filter parameters found. Expect at least one parameter: follow track locations", http.StatusNotAcceptable)
		return
	}
	m.stream(w, r, func(t tweet) any { return form1(t) })
}

// stream sends a line for each tweet, after an empty one that keeps the connection alive.
func (m *Twitter) stream(w http.ResponseWriter, r *http.Request, form func(tweet) any) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, "\r\n")
	w.(http.Flusher).Flush()
	in := make(chan tweet, 1<<16)
	m.mu.Lock()
	m.streams[in] = true
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.streams, in)
	}()
	for {
		select {
		case t := <-in:
			_, _ = w.Write(append(oneLine(form(t)), "\r\n"...))
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			return
		}
	}
}
