package platform

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/harvest"
	"strings"
)

// twitterFilter harvests the filtered stream of version 1.1.
func twitterFilter() *harvest.Type {
	return &harvest.Type{Name: "twitter_filter", Platform: "twitter", Service: "Twitter Harvester", Module: twitterModule,
		Stream: true, MinSeeds: 1, MaxSeeds: 1, Walk: func(ctx context.Context, w *harvest.Walk) error {
			if err := twitter1Base(w); err != nil {
				return err
			}
			form, err := filterParams(w.Start().Seeds[0].Token)
			if err != nil {
				return harvest.Refuse(sfm.BadRequest, "The token cannot be listened to: %v", err)
			}
			return refused(endless(ctx, w, harvest.Request{Method: http.MethodPost, URL: w.Base() + "/1.1/statuses/filter.json",
				Header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, Body: []byte(form.Encode()), Sign: sign1(w, form)}))
		}}
}

// refused makes a refusal of an answer to a stream that the same question gets again.
func refused(err error) error {
	switch statusOf(err) {
	case 400, 401, 402, 403, 404, 406, 410, 413, 416:
		return harvest.Refuse(unauthorized, "Twitter refuses the stream: %v", err)
	}
	return err
}

// filterParams are the members of the token of a filter.
func filterParams(token sfm.Token) (url.Values, error) {
	object, ok := token.Object()
	if !ok {
		return url.Values{"track": {token.String()}}, nil
	}
	form := make(url.Values)
	for _, name := range []string{"track", "follow", "locations", "language"} {
		switch v := object[name].(type) {
		case nil:
		case []any:
			form.Set(name, strings.Join(words(v), ","))
		default:
			form.Set(name, fmt.Sprint(v))
		}
	}
	if form.Get("track")+form.Get("follow")+form.Get("locations") == "" {
		return nil, errors.New("the token has none of track, follow and locations")
	}
	return form, nil
}
