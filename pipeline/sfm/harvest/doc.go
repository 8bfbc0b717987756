// Package harvest is the life of a harvest: what is asked for, how it is recorded, and how what was
// recorded gets into the collection and is told of. It knows no platform.
//
//	Harvest   what a harvest start message asks for, from its start to its last status
//	Type      what a platform adds: how its interface is walked
//	Walk      what a type gets, to ask, to record and to remember
//	Window    how far a walk from the newest to the oldest has come
//	WARC      the file the answers are in, as they went over the wire
//	Delta     what has changed since a place in a WARC: state, names, notes
//	Commit    a WARC on its way into the collection, with its delta; its record is the file that
//	          says all that is left to be done, and doing it twice is doing it once
//
// In the collection, the directory .harvest holds what is not finished yet: for each harvest a
// directory of its own, on the same file system as where the WARCs go. What is there is durable
// before anything is said of it; a process that is killed between any two steps leaves what the
// next one needs to go on as if nothing had been.
package harvest
