// Package keep remembers which files a flow installed, and when, so that they can be taken
// away at an age (sr_options(5), keep). It removes nothing itself.
//
//	Keeper  the record, one file a day in a directory, and how far it was worked off
//	Entry   one file as it was installed
//	Clock   the time the ages are measured by: one that jumps is not believed at once
//
// A line lost in a crash is a file that stays; no line ever stands for a file that was not
// installed.
package keep
