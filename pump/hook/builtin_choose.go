package hook

import (
	"slices"
	"strings"

	"srpump/post"
)

// newSkipOld drops announcements made too long ago; with none, nothing.
func newSkipOld(env Env) (Hook, error) {
	most := env.Own.Duration("msg_skip_threshold")
	return choosing(func(e *Event) bool { return most == 0 || env.Now().Sub(e.Announcement.Time.Time()) <= most }), nil
}

// routesBy lets pass what is of one of those named by the option called as the hook is.
func routesBy(name string) Maker {
	of := map[string]func(*post.Announcement) []string{
		"msg_to_clusters": func(a *post.Announcement) []string {
			return strings.FieldsFunc(a.Header(post.HeaderToClusters), func(r rune) bool { return r == ',' || r == ' ' })
		},
		"msg_from_cluster": func(a *post.Announcement) []string { return []string{a.Header(post.HeaderFromCluster)} },
		"msg_by_source":    func(a *post.Announcement) []string { return []string{a.Header(post.HeaderSource)} },
		"msg_by_user": func(a *post.Announcement) []string {
			if a.Report == nil {
				return nil
			}
			return []string{a.Report.User}
		},
	}[name]
	return func(env Env) (Hook, error) {
		var wanted []string
		for _, line := range env.Own.List(name) {
			wanted = append(wanted, strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ' ' })...)
		}
		return choosing(func(e *Event) bool {
			return slices.ContainsFunc(of(e.Announcement), func(s string) bool { return slices.Contains(wanted, s) })
		}), nil
	}
}
