package platform

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/harvest"
	"strings"
)

// rulesPath is where the rules of a stream are: one set for all who have the token.
const rulesPath = "/2/tweets/search/stream/rules"

// twitterFilterStream harvests the filtered stream. Each seed has a rule as token, {"rule": …,
// "tag": …}; the rules of the stream become those of the seeds. API: X, version 2, "Filtered stream".
func twitterFilterStream() *harvest.Type {
	return &harvest.Type{Name: "twitter_filter_stream", Platform: "twitter2", Service: "Twitter Harvester", Module: twitterModule,
		APIBase: twitter2Base, Stream: true, MinSeeds: 1, MaxSeeds: -1, Secrets: []string{"bearer_token"},
		Walk: func(ctx context.Context, w *harvest.Walk) error {
			if err := syncRules(ctx, w); err != nil {
				return err
			}
			at := query(w.Base(), "/2/tweets/search/stream", twitterFields()...)
			return refused(endless(ctx, w, harvest.Request{URL: at, Header: bearer(w.Credential("bearer_token"))}))
		}}
}

// A rule is what a tweet must be like to be sent.
type rule struct {
	ID    string `json:"id,omitempty"`
	Value string `json:"value"`
	Tag   string `json:"tag,omitempty"`
}

func ruleOf(seed sfm.Seed) rule {
	object, ok := seed.Token.Object()
	if !ok {
		return rule{Value: seed.Token.String()}
	}
	value, _ := object["rule"].(string)
	tag, _ := object["tag"].(string)
	return rule{Value: value, Tag: tag}
}

type rulesAnswer struct {
	Data   []rule
	Errors []problem
}

// syncRules takes away the rules no seed has, and adds those that are missing.
func syncRules(ctx context.Context, w *harvest.Walk) error {
	wanted := make(map[rule]sfm.Seed)
	for _, seed := range w.Start().Seeds {
		if r := ruleOf(seed); r.Value != "" {
			wanted[r] = seed
			continue
		}
		w.Warn(known(seed, notFound), label(seed)+": the token has no rule", seed.ID)
	}
	var there rulesAnswer
	if err := get(ctx, w, w.Base()+rulesPath, bearer(w.Credential("bearer_token")), &there); err != nil {
		return twitterTrouble2(err)
	}
	var old []string
	listening := 0
	for _, r := range there.Data {
		plain := rule{Value: r.Value, Tag: r.Tag}
		if _, ok := wanted[plain]; !ok {
			old = append(old, r.ID)
			continue
		}
		delete(wanted, plain)
		listening++
	}
	if len(old) > 0 {
		if _, err := postRules(ctx, w, map[string]any{"delete": map[string]any{"ids": old}}); err != nil {
			return err
		}
	}
	added, err := addRules(ctx, w, wanted)
	if err == nil && listening+added == 0 {
		return harvest.Refuse("no_seeds", "None of the rules was taken")
	}
	return err
}

// addRules adds the missing rules; it returns how many were taken. A rule that is not taken is
// told of with the seed it is of.
func addRules(ctx context.Context, w *harvest.Walk, missing map[rule]sfm.Seed) (int, error) {
	if len(missing) == 0 {
		return 0, nil
	}
	add := make([]rule, 0, len(missing))
	for r := range missing {
		add = append(add, r)
	}
	slices.SortFunc(add, func(a, b rule) int { return strings.Compare(a.Value+"\x00"+a.Tag, b.Value+"\x00"+b.Tag) })
	a, err := postRules(ctx, w, map[string]any{"add": add})
	if err != nil {
		return 0, err
	}
	for r, seed := range missing {
		for _, p := range a.Errors {
			if p.Value == r.Value && p.Title != "DuplicateRule" {
				w.Warn("token_"+p.Title, strings.TrimSpace(label(seed)+": "+p.Title+" "+strings.Join(p.Details, ", ")), seed.ID)
			}
		}
	}
	return len(a.Data), nil
}

func postRules(ctx context.Context, w *harvest.Walk, body any) (rulesAnswer, error) {
	var a rulesAnswer
	text, err := json.Marshal(body)
	if err != nil {
		return a, err
	}
	h := bearer(w.Credential("bearer_token"))
	if h == nil {
		h = http.Header{}
	}
	h.Set("Content-Type", "application/json")
	answer, err := w.Fetch(ctx, harvest.Request{Method: http.MethodPost, URL: w.Base() + rulesPath, Header: h, Body: text})
	if err != nil {
		return a, err
	}
	if answer.Status == http.StatusCreated {
		answer.Status = http.StatusOK
	}
	return a, twitterTrouble2(read(answer, w.Base()+rulesPath, &a))
}
