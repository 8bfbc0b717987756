package platform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/harvest"
)

// flickrPage is how many photos are listed at once.
const flickrPage = 500

// flickrUser harvests the public photos of users: what there is to know of each, and its sizes. A seed
// has the NSID of its user as uid, or a user name as token. API: flickr.people.findByUsername,
// flickr.people.getInfo, flickr.people.getPublicPhotos, flickr.photos.getInfo, flickr.photos.getSizes.
func flickrUser() *harvest.Type {
	return &harvest.Type{Name: "flickr_user", Platform: "flickr", Service: "Flickr Harvester", Module: "flickr_harvester",
		APIBase: "https://api.flickr.com/services/rest", MinSeeds: 1, MaxSeeds: -1, Secrets: []string{"api_key"},
		Walk: func(ctx context.Context, w *harvest.Walk) error {
			return each(ctx, w, func(ctx context.Context, seed sfm.Seed) error {
				f := flickr{ctx, w, seed}
				nsid, err := f.user()
				if err != nil {
					return err
				}
				return f.photos(nsid)
			})
		}}
}

// A flickr is the walk of one seed.
type flickr struct {
	ctx  context.Context
	w    *harvest.Walk
	seed sfm.Seed
}

// A flickrStat is what every answer has: how it went.
type flickrStat struct {
	Stat    string `json:"stat"`
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (s flickrStat) result() flickrStat { return s }

// A flickrError is an answer that says no.
type flickrError struct{ flickrStat }

func (e *flickrError) Error() string { return fmt.Sprintf("Flickr says %d: %s", e.Code, e.Message) }

// What Flickr says, by its codes.
const (
	flickrNotFound   = 1
	flickrDeleted    = 5 // of users
	flickrInvalidKey = 100
)

// call asks for a method. What went wrong is a *flickrError, or a refusal of the key.
func (f *flickr) call(method string, into interface{ result() flickrStat }, params ...string) error {
	params = append([]string{"method", method, "api_key", f.w.Credential("key"), "format", "json", "nojsoncallback", "1"}, params...)
	if err := get(f.ctx, f.w, query(f.w.Base(), "/", params...), nil, into); err != nil {
		return err
	}
	s := into.result()
	switch {
	case s.Stat == "ok":
		return nil
	case s.Code == flickrInvalidKey:
		return harvest.Refuse("unauthorized", "Flickr does not take the key: %s", s.Message)
	}
	return fmt.Errorf("cannot ask for %s: %w", method, &flickrError{s})
}

type flickrPerson struct {
	NSID     string `json:"nsid"`
	Username struct {
		Content string `json:"_content"`
	} `json:"username"`
}

// user is the NSID of the seed, and tells the requester what he did not know of it.
func (f *flickr) user() (nsid string, err error) {
	if nsid = f.seed.UID; nsid == "" {
		var a struct {
			flickrStat
			User flickrPerson `json:"user"`
		}
		err := f.call("flickr.people.findByUsername", &a, "username", f.seed.Token.String())
		if flickrCode(err) == flickrNotFound {
			return "", &seedError{notFound, "there is no user of that name"}
		}
		if err != nil {
			return "", err
		}
		nsid = a.User.NSID
		f.w.UID(f.seed.ID, nsid)
	}
	var a struct {
		flickrStat
		Person flickrPerson `json:"person"`
	}
	err = f.call("flickr.people.getInfo", &a, "user_id", nsid)
	if code := flickrCode(err); code == flickrNotFound || code == flickrDeleted {
		return "", &seedError{notFound, "there is no user of that id"}
	}
	if err != nil {
		return "", err
	}
	name := a.Person.Username.Content
	if before := f.seed.Token.String(); before != "" && name != "" && before != name {
		f.w.TokenUpdate(f.seed.ID, name)
	}
	return nsid, nil
}

// flickrCode is the code of an answer that says no, or 0.
func flickrCode(err error) int {
	var e *flickrError
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

type flickrPhotos struct {
	flickrStat
	Photos struct {
		Pages int `json:"pages"`
		Photo []struct {
			ID string `json:"id"`
		} `json:"photo"`
	} `json:"photos"`
}

// photos walks down from the newest photo to the one that was the newest at the end of the walk before.
// A walk that was interrupted goes on behind the last photo it had; one that took up the window of
// another harvest is followed by one from the top, for what came meanwhile.
func (f *flickr) photos(nsid string) error {
	key, since := nsid+".last_photo_id", ""
	incremental := f.w.Flag("incremental", true)
	if incremental {
		f.w.State(key, &since)
	}
	window := nsid + ".photos"
	if !incremental {
		window += "@" + f.w.Start().ID
	}
	for {
		win := f.w.Window(window)
		resumed := win.Open && win.Cursor != ""
		if !resumed {
			win = harvest.Window{Since: since, Open: true}
		}
		if err := f.down(nsid, window, &win); err != nil {
			return err
		}
		if incremental && win.Top != "" {
			since = win.Top
			f.w.Keep(key, since)
		}
		f.w.KeepWindow(window, harvest.Window{})
		if !resumed {
			return nil
		}
	}
}

// down is one walk, from the cursor of the window on. A cursor is a page and the last photo that was
// taken from it; that may be found some pages on by now.
func (f *flickr) down(nsid, key string, win *harvest.Window) error {
	from, last, _ := strings.Cut(win.Cursor, " ")
	page, _ := strconv.Atoi(from)
	page = max(page, 1)
	taken := make(map[string]bool) // what is pushed on to the next page comes twice
	for {
		var a flickrPhotos
		err := f.call("flickr.people.getPublicPhotos", &a, "user_id", nsid, "per_page", strconv.Itoa(flickrPage), "page", strconv.Itoa(page))
		if err != nil {
			return err
		}
		var ids []string
		for _, p := range a.Photos.Photo {
			ids = append(ids, p.ID)
		}
		end := page >= a.Photos.Pages || len(ids) == 0
		if last != "" {
			i := slices.Index(ids, last)
			if i < 0 && !end {
				page++
				continue
			}
			if i < 0 { // it is gone: from the top
				f.w.Log().Info("the cursor is refused, the walk begins again", "key", key)
				page, last, win.Top = 1, "", ""
				continue
			}
			ids, last = ids[i+1:], ""
		}
		end = f.reaches(ids, win.Since) || end
		if err := f.take(ids, page, key, win, taken); err != nil || end {
			return err
		}
		page++
	}
}

// reaches tells whether a page has the photo of the mark. Where that was removed, a page all of which is
// older ends the walk.
func (f *flickr) reaches(ids []string, since string) bool {
	if since == "" || slices.Contains(ids, since) {
		return since != ""
	}
	return len(ids) > 0 && !slices.ContainsFunc(ids, func(id string) bool { return above(id, since) })
}

// take harvests the photos of a page down to the mark.
func (f *flickr) take(ids []string, page int, key string, win *harvest.Window, taken map[string]bool) error {
	for _, id := range ids {
		if id == win.Since {
			return nil
		}
		if taken[id] {
			continue
		}
		for _, method := range []string{"flickr.photos.getInfo", "flickr.photos.getSizes"} {
			err := f.call(method, &struct{ flickrStat }{}, "photo_id", id)
			if err != nil && flickrCode(err) == 0 { // one that is not public any more is passed over
				return err
			}
		}
		taken[id] = true
		win.Top = cmp.Or(win.Top, id)
		win.Cursor = strconv.Itoa(page) + " " + id
		f.w.KeepWindow(key, *win)
		if err := f.w.Next(f.ctx); err != nil {
			return err
		}
	}
	return nil
}
