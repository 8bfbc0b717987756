package export

// flickrColumns are of what flickr.photos.getInfo tells, by the names of SFM's exporter.
func flickrColumns() []column {
	return []column{
		{"photo_id", itemID},
		{"date_posted", itemDate},
		{"date_taken", at("dates.taken")},
		{"license", at("license")},
		{"safety_level", at("safety_level")},
		{"original_format", at("originalformat")},
		{"owner_nsid", at("owner.nsid")},
		{"owner_username", at("owner.username")},
		{"title", at("title._content")},
		{"description", at("description._content")},
		{"media", at("media")},
		{"photopage", flickrPage},
	}
}

// flickrPage is the address of the page of a photo.
func flickrPage(d *document) cell {
	for _, v := range arrayAt(d.root, "urls.url") {
		if stringAt(v, "type") == "photopage" {
			return cellOf(v.Get("_content"))
		}
	}
	return cell{}
}

// tumblrColumns are of a post, by the names of SFM's exporter.
func tumblrColumns() []column {
	return []column{
		{"created_at", either(itemDate, at("date"))},
		{"tumblr_id", itemID},
		{"blog_name", at("blog_name")},
		{"post_type", at("type")},
		{"post_slug", at("slug")},
		{"post_summary", at("summary")},
		{"post_text", at("body", "text", "caption", "description", "question")},
		{"tags", list(", ", "", "tags")},
		{"tumblr_url", at("post_url")},
		{"tumblr_short_url", at("short_url")},
	}
}

// feedColumns are of an item of a feed, as JSON Feed has it.
func feedColumns() []column {
	return []column{
		{"id", itemID},
		{"date_published", either(at("date_published"), itemDate)},
		{"date_modified", at("date_modified")},
		{"feed_url", itemOwner},
		{"url", at("url", "external_url")},
		{"title", at("title")},
		{"authors", either(list(", ", "name", "authors"), at("author.name"))},
		{"summary", at("summary")},
		{"text", either(at("content_text"), plainText("content_html"))},
		{"content_html", at("content_html")},
		{"tags", list(", ", "", "tags")},
		{"attachments", list(" ", "url", "attachments")},
	}
}
