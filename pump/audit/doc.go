// Package audit keeps the users, permissions, exchanges and queues of a broker as the configuration
// of a pump wants them (sr_audit(1)).
//
//	Roster    who may use the broker, and as what: the configuration's side
//	Holdings  what the broker has: the other side
//	Change    one thing to do so that they agree
//
// Plan compares; it asks nobody and does nothing, so that what would be done can be shown
// first.
package audit
