// Package send puts one file at a place of another host: its bytes are verified while they are
// read, and it has its final name once the server has all of them.
//
//	Sender  one place to deliver to, and what is known of it: which directories are there
//	File    one file to deliver
//	Sent    what the server has
//
// The order is fixed: directory made, bytes under a temporary name, length and checksum those
// announced, size confirmed by the server, attributes set, renamed. A failure of a place is a
// *transfer.Error; what is to be announced next may rely on the rename having been answered, but not
// on the server's disk: what a server promises to survive a power cut is its own affair.
package send
