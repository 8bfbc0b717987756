// Package blocks remembers which blocks of a file announced in blocks are here
// (sr_post(7), "parts"), in a journal of its own for each file, so that a kill loses none
// that was acknowledged.
//
//	Version  one state of a file, as its announcements describe it
//	File     what a journal is of: where it goes, its version and its temporary file
//	Record   one block that is here, verified and durable, and how it was announced
//	Journal  the records of one file, on disk
//	Store    the journals of a flow
//
// It does not write the files themselves: who does makes the bytes durable first.
package blocks
