// Package warc reads, writes, checks and mends WARC files, the archive format of ISO 28500
// in the versions 1.0 and 1.1.
//
// A file is a row of records. A Record is a head, which is named fields in an order, and a
// block, which is bytes; most blocks are one side of an HTTP exchange, as it went over the
// wire, and what follows the HTTP header in it is the payload. In a compressed file each
// record is a gzip member of its own, so that one can be taken out, and lost, without the
// others.
//
// A Writer puts records behind each other; it compresses several at once and keeps their
// order. A Reader gives them back, verifies what was sealed (the checksum of the member,
// lengths, digests), confines damage to the record it is in, and tells of it as a Fault.
package warc
