// Package sfm is the message set of the Social Feed Manager: what requesters, harvesters and
// exporters tell each other, as JSON over a topic exchange. It reads and writes messages and
// knows no network, no file and no platform.
//
// A requester sends a Start; a harvester answers with a Status whenever there is something to
// say, and with a Created for each WARC; a Stop ends a harvest that has no end of its own. An
// ExportStart is answered with ExportStatuses. A Note is what was noticed on the way. A Seed is
// one thing to be harvested: a Token as people know it, a uid as the platform does. Members that
// are not known are ignored; ids are texts that mean nothing.
package sfm
