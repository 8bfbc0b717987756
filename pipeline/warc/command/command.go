// Package command is warc(1): what it is called with, and its verbs.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// A Command is warc(1), to be handed to what has a process: its name, its help, and Run.
type Command struct{}

// Name is what it is called.
func (Command) Name() string { return "warc" }

// A verb is one thing it does.
type verb struct {
	name, args, purpose string
	// flags declares the options and returns what runs with them.
	flags func(*flag.FlagSet) func(*run) error
}

func verbs() []verb {
	return []verb{
		{"check", "file ...", "verify files, and say what is wrong with them", checkVerb},
		{"ls", "file ...", "list the records of files", listVerb},
		{"cat", "file [offset ...]", "print records, or their payload", catVerb},
		{"recover", "file ...", "cut an unfinished file back to its last whole record", recoverVerb},
	}
}

// Help is what -h prints.
func (c Command) Help() string {
	var b strings.Builder
	b.WriteString("warc - check, list, print and mend WARC files\n\n")
	lead := "usage: "
	for _, v := range verbs() {
		fmt.Fprintf(&b, "%s%s\n", lead, v.usage())
		lead = "       "
	}
	for _, v := range verbs() {
		fmt.Fprintf(&b, "\n%s: %s\n", v.name, v.purpose)
		fs := flag.NewFlagSet("", flag.ContinueOnError)
		v.flags(fs)
		fs.VisitAll(func(f *flag.Flag) {
			arg, help := flag.UnquoteUsage(f)
			fmt.Fprintf(&b, "  %-24s %s\n", strings.TrimSpace("-"+f.Name+" "+arg), help)
		})
	}
	return b.String()
}

func (v verb) usage() string { return "warc " + v.name + " [option ...] " + v.args }

// A mistake is one on the command line.
type mistake struct {
	error
	usage string
}

// Usage is what the line should look like.
func (m mistake) Usage() string { return m.usage }

// A run is one call: its arguments without the options, and where it reads, prints and warns.
type run struct {
	context.Context
	args []string
	in   io.Reader
	out  io.Writer
	warn func(error)
}

// Run does what the arguments say. What is wrong with a single file is told by warn, and the
// error is what ends the command. An error with a method Usage is one of the command
// line; one with a method Hint says what to do.
func (c Command) Run(ctx context.Context, args []string, in io.Reader, out io.Writer, warn func(error)) error {
	if len(args) == 0 {
		return mistake{errors.New("no verb is given"), verbs()[0].usage() + "; warc -h lists the others"}
	}
	for _, v := range verbs() {
		if v.name != args[0] {
			continue
		}
		fs := flag.NewFlagSet(v.name, flag.ContinueOnError)
		fs.SetOutput(io.Discard)
		do := v.flags(fs)
		rest, err := parse(fs, args[1:])
		if err == nil && len(rest) == 0 {
			err = errors.New("no file is given")
		}
		if err != nil {
			return mistake{err, v.usage()}
		}
		return do(&run{ctx, rest, in, out, warn})
	}
	return mistake{fmt.Errorf("no verb %q", args[0]), "warc check|ls|cat|recover [option ...] file ..."}
}

// parse takes options wherever they stand before "--".
func parse(fs *flag.FlagSet, args []string) (rest []string, err error) {
	for {
		if err := fs.Parse(args); err != nil {
			return nil, err
		}
		n := len(args) - fs.NArg()
		if n > 0 && args[n-1] == "--" || fs.NArg() == 0 {
			return append(rest, fs.Args()...), nil
		}
		rest, args = append(rest, fs.Arg(0)), fs.Args()[1:]
	}
}
