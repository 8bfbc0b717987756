// Package manage speaks the HTTP API of RabbitMQ's management plugin: users, their permissions,
// exchanges and queues of one vhost.
//
//	Client      one broker, as its administrator
//	User        somebody who may log in
//	Permission  what a user may do on a vhost: three regular expressions
//	Status      an answer that refuses
package manage
