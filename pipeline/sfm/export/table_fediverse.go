package export

import (
	"strings"

	"github.com/valyala/fastjson"
)

// mastodonColumns are of a status.
func mastodonColumns() []column {
	return []column{
		{"id", itemID},
		{"created_at", either(at("created_at"), itemDate)},
		{"edited_at", at("edited_at")},
		{"account_id", at("account.id")},
		{"account_acct", at("account.acct")},
		{"account_display_name", at("account.display_name")},
		{"account_url", at("account.url")},
		{"account_followers_count", at("account.followers_count")},
		{"account_bot", at("account.bot")},
		{"url", at("url")},
		{"uri", at("uri")},
		{"in_reply_to_id", at("in_reply_to_id")},
		{"in_reply_to_account_id", at("in_reply_to_account_id")},
		{"reblog_uri", at("reblog.uri")},
		{"reblog_account_acct", at("reblog.account.acct")},
		{"language", at("language")},
		{"visibility", at("visibility")},
		{"sensitive", at("sensitive")},
		{"spoiler_text", at("spoiler_text")},
		{"text", either(plainText("content"), plainText("reblog.content"))},
		{"content_html", at("content")},
		{"tags", list(" ", "name", "tags", "reblog.tags")},
		{"mentions", list(" ", "acct", "mentions", "reblog.mentions")},
		{"media", list(" ", "url", "media_attachments", "reblog.media_attachments")},
		{"card_url", at("card.url", "reblog.card.url")},
		{"replies_count", at("replies_count")},
		{"reblogs_count", at("reblogs_count")},
		{"favourites_count", at("favourites_count")},
	}
}

// blueskyColumns are of a post, as the feed of an author or the stream of everything tells it; what
// only one of them knows is empty in the other.
func blueskyColumns() []column {
	record := func(path string) getter { return at("record."+path, "commit.record."+path) }
	return []column{
		{"uri", itemID},
		{"url", blueskyPage},
		{"cid", at("cid", "commit.cid")},
		{"created_at", either(record("createdAt"), itemDate)},
		{"indexed_at", at("indexedAt")},
		{"author_did", itemOwner},
		{"author_handle", at("author.handle")},
		{"author_display_name", at("author.displayName")},
		{"text", record("text")},
		{"langs", list(" ", "", "record.langs", "commit.record.langs")},
		{"reply_parent_uri", record("reply.parent.uri")},
		{"reply_root_uri", record("reply.root.uri")},
		{"quote_uri", either(record("embed.record.uri"), record("embed.record.record.uri"))},
		{"link_url", either(record("embed.external.uri"), record("embed.media.external.uri"))},
		{"hashtags", facets("tag")},
		{"mentions", facets("did")},
		{"urls", facets("uri")},
		{"reply_count", at("replyCount")},
		{"repost_count", at("repostCount")},
		{"like_count", at("likeCount")},
		{"quote_count", at("quoteCount")},
	}
}

// blueskyPage is the address of a post for people: at://DID/COLLECTION/KEY has all of it.
func blueskyPage(d *document) cell {
	rest, ok := strings.CutPrefix(d.item.ID, "at://")
	parts := strings.Split(rest, "/")
	if !ok || len(parts) != 3 {
		return cell{}
	}
	return textCell("https://bsky.app/profile/" + parts[0] + "/post/" + parts[2])
}

// facets are one member of what is marked in a text.
func facets(member string) getter {
	return func(d *document) cell {
		var all []string
		for _, path := range []string{"record.facets", "commit.record.facets"} {
			for _, facet := range arrayAt(d.root, path) {
				for _, f := range arrayAt(facet, "features") {
					all = appendText(all, f.Get(member))
				}
			}
		}
		return textCell(strings.Join(all, " "))
	}
}

func appendText(all []string, v *fastjson.Value) []string {
	if c := cellOf(v); c.text != "" {
		return append(all, c.text)
	}
	return all
}
