package pump

import (
	"strings"

	"srpump/post"
	"srpump/pump/config"
)

// sourceOf is the longest of the declared source users whose exchange this is (sr_options(5),
// source_from_exchange); empty when it is nobody's.
func sourceOf(exchange string, declared []string) (user string) {
	words := strings.Fields(strings.Join(declared, " ")) // a role and a name, again and again
	for i := 0; i+1 < len(words); i += 2 {
		if name := words[i+1]; words[i] == "source" && len(name) > len(user) && strings.HasPrefix(exchange, "xs_"+name) {
			user = name
		}
	}
	return user
}

// trustExchange takes the source of an announcement from the exchange it came through, where
// that is configured: what a source says of itself does not count.
func (f *Flow) trustExchange(a *post.Announcement, exchange string) {
	if f.cfg.Preset != config.Sarra || !f.cfg.Values.Bool("source_from_exchange") {
		return
	}
	if user := sourceOf(exchange, f.cfg.Values.List("declare")); user != "" {
		a.SetHeader(post.HeaderSource, user)
		a.SetHeader(post.HeaderFromCluster, "")
	}
}
