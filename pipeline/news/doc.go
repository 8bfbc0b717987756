// Package news holds what a news story is, in the form of the archives of Media Cloud's
// story-indexer.
//
// A Story is what is known of one article: where its address was found, what the server said,
// the page itself, and what was read out of the page. It travels as a fragment of a WARC file:
// a response record with the page and a metadata record with the rest as JSON, a gzip member
// each. A fragment is at once the file in a spool, the body of a message and what an archive is
// made of: behind a warcinfo record fragments stand one after the other.
//
// A Reader takes fragments and whole archives, Parse the one story in a message. What is wrong is
// told as a Fault with its place in the file, and costs one story; why a story was set aside stands in
// it, as its Failure.
//
// Two addresses name the same article when Normalize makes the same of them; the SHA-256 of
// that is the ID of the story, in the index and as a fingerprint.
package news
