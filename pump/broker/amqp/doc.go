// Package amqp is the RabbitMQ engine of package broker, over AMQP 0-9-1.
//
//	Link         one TCP connection to the broker; a Conn has one at a time and
//	             replaces it when it breaks
//	Wire         the link's byte stream; while corked it gathers small frames
//	             into few system calls
//	Channel      a lane within a link: one for topology, one for each consumer,
//	             one for each publisher. The broker closes it when it refuses
//	             something, and it is opened again
//	Ledger       what was declared through a Conn, to be declared again
//	Book         a consumer's unacknowledged deliveries; it folds runs of them
//	             into one acknowledgement
//	Outbox       a publisher's unconfirmed publishings, in order, kept until
//	             the broker confirms
//
// A broker is held to be dead when nothing was heard of it for two heartbeats.
// Writes have no time limit of their own: a broker that ran out of memory or
// disk stops reading for as long as that lasts, but goes on sending heartbeats.
package amqp
