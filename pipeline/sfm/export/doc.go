// Package export makes files for people out of WARC files: tables, lines of JSON, lists of ids
// (sfm_export(1)).
//
//	Order     what is to be exported, how, and into which directory
//	Export    an order that came as a message, with the statuses that answer it
//	Table     the columns of a platform; one that an item has nothing for is empty
//	Segment   one file of an export, of so many items
//	Lane      a WARC file that is being read; several are at once, and their items still come in
//	          the order of the files
//	Stage     the directory an export is made in, beside the one that it replaces as a whole
//
// Nothing is kept of an item but sixteen bytes of a digest, and that only where duplicates are
// dropped.
package export
