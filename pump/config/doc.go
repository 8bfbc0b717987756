// Package config turns configuration files, a command line and an environment
// into values. It knows names, kinds and defaults; it does not know what a
// broker or a file is for.
//
// # Words
//
// An Option is one row of the Table: its name, aliases, kind, default (for
// each preset), section and help. It is the only place where these live.
//
// A Preset is the command whose defaults apply: post, watch, sarra and so on.
// The preset is also the component, the name of a directory of configurations.
//
// Values holds what every option is set to and where that came from (Origin).
//
// A Rule is one accept or reject line with the Capture of the placement
// options in force at that line. A Binding is one subtopic line with the
// exchange and prefix in force at that line.
//
// A Problem is something wrong at a file and line; Load collects all of them
// instead of stopping at the first. Warnings do not prevent a start, errors do.
//
// A Credential is one line of credentials.conf; a Secret is text that never
// prints itself. Env is the part of the world this package looks at, and State
// names the files one configuration keeps between runs.
//
// # Reading order
//
// Later beats earlier, except that the command line beats everything:
//
//	defaults of the table
//	default.conf
//	admin.conf
//	<component>.conf
//	the defaults a component insists on (Option.Fixed)
//	the command line
//	the configuration file
//
// An option given on the command line is pinned: what any file says of it is
// checked for mistakes and then ignored. That includes the options which mean
// something only in order (directory, mirror, strip, flatten, filename,
// exchange, topic_prefix): with "-directory /tmp" each rule of the file places
// its files in /tmp, and with "-exchange x" each subtopic of the file binds to
// x. Within the command line these options keep their order, as in a file.
//
// Rules and bindings add up in the order shown above, so a rule of the command
// line is asked before those of the configuration file. Repeatable lists
// (header, path) add up as well, with those of the command line last, so that
// whoever lets the last one win obeys the command line.
package config
