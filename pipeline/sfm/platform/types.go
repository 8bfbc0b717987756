// Package platform is how the interfaces of platforms are walked: a harvest type in each file. It
// knows what a harvest gives it to ask, to record and to remember with, and nothing of how what was
// recorded gets into a collection.
//
// There are three kinds of walks. Where an API gives what is right above an id, a walk goes up and
// the last id is where the next begins. Where it gives the newest first, a walk goes down to where
// the last one began (list). Streams go on until they are told to stop.
package platform

import "srpump/pipeline/sfm/harvest"

// Types are the harvest types there are.
func Types() []*harvest.Type {
	all := []*harvest.Type{
		flickrUser(), tumblrBlogPosts(), mastodonTimeline(), mastodonStream(), blueskyAuthor(), blueskyJetstream(), feed(), web(),
		twitterSearch2(), twitterUserTimeline2(), twitterFilterStream(), twitterSearch(), twitterFilter(),
	}
	for _, t := range all {
		checked(t)
	}
	return all
}
