// Package daemon is about the processes of one host: which of them runs which configuration,
// how one is started and ended, and whether it gets on. It does not know what they do.
//
// # Words
//
// A Seat is the state directory of one configuration; whoever holds its lock runs the
// configuration. Nothing else counts: process numbers in files are for people.
//
// A Holder is the process that holds the lock, as it has described itself in the lock file.
//
// A Stranger is a process of another program, the v02 one, that runs the same configuration.
//
// Progress is what a running process says of itself, in a file that is replaced every few
// seconds while something happens. From it others tell whether the process hangs.
package daemon
