// Package rabbit gives tests a RabbitMQ node of their own: private ports,
// private data directory, private epmd, started as the current user from
// Debian's rabbitmq-server and gone when the test process is, however it ends.
// The machine's default node is never touched.
//
// Users of the node, all with their name as password:
//
//	admin   everything, everywhere
//	guest   everything, everywhere
//	bob     a source as sr_audit makes them: q_bob…, xs_bob…, reads x…public
//	nobody  may log in, may do nothing on vhost "/"
//
// Its vhosts are "/", "dev" and "/dev2".
package rabbit
