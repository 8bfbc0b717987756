// Package items finds in WARC files what was harvested from platforms: statuses, photos, posts.
//
// A Reader takes one record after the other and yields the Items in it. It knows which requests
// of a platform's API have items in their answers; records that are not its own yield nothing.
// What cannot be read is told as a Damage, and the next line or record goes on. There is no
// network here and no file.
package items
