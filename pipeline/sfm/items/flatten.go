package items

import "encoding/json"

// maxGrowth is by how much a status may grow when what it refers to is put into it, in bytes.
const maxGrowth = 4 << 20

// included is what an answer of version 2 of the Twitter API has besides its statuses: what they
// refer to.
type included struct {
	users, names, media, polls, places, tweets map[string]json.RawMessage
	room                                       int // bytes the status at hand may still grow
}

// includedOf reads the member includes of an answer, which was checked.
func includedOf(raw json.RawMessage) *included {
	m := membersOf(raw)
	by := func(name, key string) map[string]json.RawMessage {
		all := map[string]json.RawMessage{}
		for _, e := range elementsOf(m.get(name)) {
			if id := textOf(membersOf(e).get(key)); id != "" {
				all[id] = e
			}
		}
		return all
	}
	return &included{users: by("users", "id"), names: by("users", "username"), media: by("media", "media_key"), polls: by("polls", "id"),
		places: by("places", "id"), tweets: by("tweets", "id")}
}

// find is something referred to, if there is room for it.
func (in *included) find(all map[string]json.RawMessage, id json.RawMessage) (json.RawMessage, bool) {
	raw, ok := all[textOf(id)]
	if !ok || len(raw) > in.room {
		return nil, false
	}
	in.room -= len(raw)
	return raw, true
}

// flatten puts into a status what it refers to: its author, the one it answers, media, poll,
// place, those it mentions and, two levels deep, other statuses.
func (in *included) flatten(raw json.RawMessage, levels int) json.RawMessage {
	m := membersOf(raw)
	if user, ok := in.find(in.users, m.get("author_id")); ok {
		m.set("author", user)
	}
	if user, ok := in.find(in.users, m.get("in_reply_to_user_id")); ok {
		m.set("in_reply_to_user", user)
	}
	if a := membersOf(m.get("attachments")); a != nil {
		in.attach(&a)
		m.set("attachments", a.json())
	}
	if geo := membersOf(m.get("geo")); geo != nil {
		if place, ok := in.find(in.places, geo.get("place_id")); ok {
			geo.merge(place)
			m.set("geo", geo.json())
		}
	}
	if e := membersOf(m.get("entities")); e.get("mentions") != nil {
		e.set("mentions", in.merged(e.get("mentions"), in.names, "username", nil))
		m.set("entities", e.json())
	}
	if refs := m.get("referenced_tweets"); refs != nil && levels > 0 {
		m.set("referenced_tweets", in.merged(refs, in.tweets, "id", func(t json.RawMessage) json.RawMessage { return in.flatten(t, levels-1) }))
	}
	return m.json()
}

// attach puts media and polls beside their keys.
func (in *included) attach(a *members) {
	var media []json.RawMessage
	for _, key := range elementsOf(a.get("media_keys")) {
		if raw, ok := in.find(in.media, key); ok {
			media = append(media, raw)
		}
	}
	if media != nil {
		a.set("media", array(media))
	}
	for _, id := range elementsOf(a.get("poll_ids")) {
		if raw, ok := in.find(in.polls, id); ok {
			a.set("poll", raw)
		}
	}
}

// merged adds to each of the references in an array the members of what it refers to.
func (in *included) merged(refs json.RawMessage, all map[string]json.RawMessage, key string, change func(json.RawMessage) json.RawMessage) json.RawMessage {
	list := elementsOf(refs)
	for i, ref := range list {
		m := membersOf(ref)
		raw, ok := in.find(all, m.get(key))
		if !ok {
			continue
		}
		if change != nil {
			raw = change(raw)
		}
		m.merge(raw)
		list[i] = m.json()
	}
	return array(list)
}
