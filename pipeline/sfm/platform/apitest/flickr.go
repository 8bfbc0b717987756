package apitest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
)

// A Flickr is the part of the API of Flickr that a flickr_user harvest asks, one answer a line. See
// https://www.flickr.com/services/api/.
type Flickr struct {
	*Desk
	// Base is what its methods are below.
	Base string

	mu     sync.Mutex
	users  map[string]string   // names by NSID
	photos map[string][]string // by NSID, newest first
}

// OpenFlickr starts one.
func OpenFlickr(t testing.TB) *Flickr {
	f := &Flickr{users: make(map[string]string), photos: make(map[string][]string)}
	f.Desk = open(t, f.serve)
	f.Base = f.URL + "/services/rest"
	return f
}

// User makes a user, or gives one another name.
func (f *Flickr) User(nsid, name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.users[nsid] = name
}

// Post adds photos with these ids, each newer than those before.
func (f *Flickr) Post(nsid string, ids ...int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range ids {
		f.photos[nsid] = append([]string{strconv.Itoa(id)}, f.photos[nsid]...)
	}
}

// Remove takes a photo away.
func (f *Flickr) Remove(nsid string, id int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.photos[nsid] = slices.DeleteFunc(f.photos[nsid], func(other string) bool { return other == strconv.Itoa(id) })
}

func (f *Flickr) serve(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	answer := f.answer(r.FormValue("method"), r)
	if answer["stat"] == nil {
		answer["stat"] = "ok"
	}
	answerJSON(w, 200, answer)
}

func fails(code int, message string) object {
	return object{"stat": "fail", "code": code, "message": message}
}

func (f *Flickr) answer(method string, r *http.Request) object {
	if r.FormValue("api_key") == "" {
		return fails(100, "Invalid API Key (Key has invalid format)")
	}
	nsid := r.FormValue("user_id")
	switch method {
	case "flickr.people.findByUsername":
		for nsid, name := range f.users {
			if name == r.FormValue("username") {
				return object{"user": object{"id": nsid, "nsid": nsid, "username": object{"_content": name}}}
			}
		}
		return fails(1, "User not found")
	case "flickr.people.getInfo":
		name, ok := f.users[nsid]
		if !ok {
			return fails(1, "User not found")
		}
		return object{"person": object{"id": nsid, "nsid": nsid, "username": object{"_content": name}}}
	case "flickr.people.getPublicPhotos":
		return f.list(f.photos[nsid], r)
	}
	return f.photo(method, r.FormValue("photo_id"))
}

func (f *Flickr) list(ids []string, r *http.Request) object {
	per, _ := strconv.Atoi(r.FormValue("per_page"))
	page, _ := strconv.Atoi(r.FormValue("page"))
	photos := []object{}
	for i := (page - 1) * per; i < min(page*per, len(ids)); i++ {
		photos = append(photos, object{"id": ids[i], "title": "photo " + ids[i]})
	}
	return object{"photos": object{"page": page, "pages": (len(ids) + per - 1) / per, "perpage": per, "total": len(ids), "photo": photos}}
}

func (f *Flickr) photo(method, id string) object {
	for nsid, ids := range f.photos {
		if !slices.Contains(ids, id) {
			continue
		}
		switch method {
		case "flickr.photos.getInfo":
			return object{"photo": object{"id": id, "owner": object{"nsid": nsid, "username": f.users[nsid]},
				"title": object{"_content": "photo " + id}, "dates": object{"posted": fmt.Sprint(1447000000 + len(ids)), "taken": "2015-11-08 12:00:00"}}}
		case "flickr.photos.getSizes":
			size := func(label string) object {
				return object{"label": label, "source": fmt.Sprintf("https://live.staticflickr.com/%s_%s.jpg", id, label[:1])}
			}
			return object{"sizes": object{"size": []object{size("Square"), size("Thumbnail"), size("Large"), size("Original")}}}
		}
	}
	return fails(1, "Photo not found")
}
