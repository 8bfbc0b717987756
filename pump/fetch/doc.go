// Package fetch brings one file here: it gets the bytes, verifies them, and
// puts them in place so that neither a kill nor a power cut leaves a wrong
// byte under a final name.
//
//	Tree       a directory nothing is written outside of
//	Job        one file to fetch and where it goes
//	Staged     the file under its temporary name, complete, length and sum known
//	Installer  makes staged files durable and visible, in groups; also links, removals, directories
//	Inflight   how temporary files are called
//	Error      why it failed here; failures of the source are *transfer.Error
//
// The order is fixed: bytes complete and verified, attributes set, data
// durable, renamed, directory durable, and only then is the caller told.
package fetch
