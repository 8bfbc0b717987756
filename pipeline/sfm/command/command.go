// Package command holds the commands of the Social Feed Manager: what each is called with, and
// what it does. Each is a value with a name, a help and a Run, to be handed to what has a
// process.
package command

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

// A mistake is one on the command line.
type mistake struct {
	error
	usage string
}

// Usage is what the line should look like.
func (m mistake) Usage() string { return m.usage }

// A hinted error says what to do.
type hinted struct {
	error
	hint string
}

// Hint is what to do.
func (h hinted) Hint() string { return h.hint }

// help is what -h prints of a command: its purpose, its usage and its options.
func help(name, purpose, usage string, options *flag.FlagSet) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s - %s\n\nusage: %s\n\n", name, purpose, usage)
	options.VisitAll(func(f *flag.Flag) {
		arg, text := flag.UnquoteUsage(f)
		fmt.Fprintf(&b, "  %-16s %s\n", strings.TrimSpace("-"+f.Name+" "+arg), text)
	})
	return b.String()
}

// newOptions are options that are told of, when they are wrong, by nobody else.
func newOptions() *flag.FlagSet {
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	return fs
}

// parse takes options wherever they stand before "--", and returns the arguments.
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

// apart takes options of one letter without a value that stand together apart.
func apart(letters string, args []string) (all []string) {
	for i, arg := range args {
		switch {
		case arg == "--":
			return append(all, args[i:]...)
		case len(arg) > 2 && arg[0] == '-' && strings.Trim(arg[1:], letters) == "":
			for _, letter := range arg[1:] {
				all = append(all, "-"+string(letter))
			}
		default:
			all = append(all, arg)
		}
	}
	return all
}

// cause is what is wrong, without the name that is told anyway.
func cause(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
