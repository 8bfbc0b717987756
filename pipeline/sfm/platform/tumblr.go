package platform

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/harvest"
)

// tumblrPage is how many posts are asked for at once.
const tumblrPage = 50

// tumblrBlogPosts harvests the posts of blogs. A seed has the name of its blog, with or without
// a domain, as uid or else as token. API: Tumblr, "Posts – Retrieve Published Posts".
func tumblrBlogPosts() *harvest.Type {
	return &harvest.Type{Name: "tumblr_blog_posts", Platform: "tumblr", Service: "Tumblr Harvester", Module: "tumblr_harvester",
		APIBase: "https://api.tumblr.com", MinSeeds: 1, MaxSeeds: -1, Secrets: []string{"api_key"},
		Walk: func(ctx context.Context, w *harvest.Walk) error {
			return each(ctx, w, func(ctx context.Context, seed sfm.Seed) error { return tumblrBlog(ctx, w, seed) })
		}}
}

func tumblrBlog(ctx context.Context, w *harvest.Walk, seed sfm.Seed) error {
	blog := seed.UID
	if blog == "" {
		blog = seed.Token.String()
	}
	name := strings.TrimSuffix(blog, ".tumblr.com")
	if !strings.Contains(blog, ".") {
		blog += ".tumblr.com"
	}
	t := &tumblrList{w: w, path: "/v2/blog/" + url.PathEscape(blog) + "/posts"}
	err := list{key: name + ".since_post_id", incremental: w.Flag("incremental", false), number: true, page: t.page}.walk(ctx, w)
	switch statusOf(err) {
	case 404:
		return &seedError{notFound, "there is no such blog"}
	case 403:
		return &seedError{unauthorized, "the blog may not be read"}
	case 401:
		return harvest.Refuse("unauthorized", "Tumblr does not take the api_key")
	}
	return err
}

type tumblrList struct {
	w    *harvest.Walk
	path string
}

type tumblrAnswer struct {
	Response struct {
		Posts []struct {
			ID     json.Number `json:"id"`
			Pinned bool        `json:"is_pinned"`
		} `json:"posts"`
		Total int `json:"total_posts"`
	} `json:"response"`
}

// page asks for the posts behind an offset. A cursor is the offset and the id of the last post
// before it; that post is asked for again, and when it is not there because posts above it were
// removed, the walk steps back, so that none is passed over.
func (t *tumblrList) page(ctx context.Context, cursor, _ string) (page, error) {
	before, last, _ := strings.Cut(cursor, " ")
	offset, _ := strconv.Atoi(before)
	from := max(offset-1, 0)
	for {
		p, err := t.at(ctx, from)
		if err != nil {
			return page{}, err
		}
		if top, _ := span(p.marks, ""); last == "" || from == 0 || !above(last, top) {
			if p.next == cursor {
				p.next = "" // only the post before was there
			}
			return p, nil
		}
		from = max(from-tumblrPage+1, 0)
	}
}

// at asks for one page.
func (t *tumblrList) at(ctx context.Context, offset int) (page, error) {
	var a tumblrAnswer
	at := query(t.w.Base(), t.path, "api_key", t.w.Credential("api_key"), "limit", strconv.Itoa(tumblrPage), "offset", strconv.Itoa(offset))
	if err := get(ctx, t.w, at, nil, &a); err != nil {
		return page{}, err
	}
	var p page
	lowest := ""
	for _, post := range a.Response.Posts {
		if !post.Pinned {
			p.add(post.ID.String())
		}
		lowest = post.ID.String()
	}
	end, total := offset+len(a.Response.Posts), a.Response.Total
	if lowest != "" && (total == 0 || end < total) {
		p.next = strconv.Itoa(end) + " " + lowest
	}
	return p, nil
}
