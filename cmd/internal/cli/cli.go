// Package cli is the front of every command: arguments, help, signals, logs and
// exit status. It is the only package that touches the arguments, the standard
// streams and the exit status of the process.
package cli

import (
	"context"
	"io"
	"log"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"srpump/pump/config"
)

// Version is the release; the Makefile sets it.
var Version = "dev"

// A Process is what a command gets of the process it runs in; tests make
// their own.
type Process struct {
	Args   []string // without the name of the command
	Env    config.Env
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	// Reload, where set, asks for the configuration to be read again.
	Reload <-chan struct{}
	// TTY reports whether Stderr is a terminal of that many columns.
	TTY func() (columns int, ok bool)
	// Pipelines are the components that are no part of a pump.
	Pipelines Pipelines
}

// Main runs the command of a preset and ends the process.
func Main(p config.Preset) { MainWith(p, nil) }

// MainWith is Main for a command that is a pipeline.
func MainWith(p config.Preset, with Pipelines) { os.Exit(with.run(p, os.Args[1:])) }

// MainByName runs the command the process was called as; called as srpump, the first
// argument names it.
func MainByName(with Pipelines) {
	name, args := filepath.Base(os.Args[0]), os.Args[1:]
	if p, ok := preset(name); ok {
		os.Exit(with.run(p, args))
	}
	if c, ok := with.others()[name]; ok {
		os.Exit(c(args))
	}
	if len(args) > 0 {
		if c, ok := with.others()[args[0]]; ok {
			os.Exit(c(args[1:]))
		}
		if p, ok := preset(args[0]); ok {
			os.Exit(with.run(p, args[1:]))
		}
	}
	if env, err := config.HostEnv(); err == nil && complete(args, env, os.Stdout) {
		os.Exit(ExitOK)
	}
	os.Exit(multiCall(args, os.Stdout, os.Stderr))
}

// Commands are the presets that can be run.
func Commands() []config.Preset {
	return []config.Preset{config.Post, config.Watch, config.Poll, config.Winnow, config.Shovel, config.Sarra, config.Subscribe, config.Sender, config.Report, config.Serve, config.Audit, config.Spool}
}

// preset finds a command by its name, with or without sr_.
func preset(name string) (config.Preset, bool) {
	for _, p := range Commands() {
		if name == p.Program() || name == strings.TrimPrefix(p.Program(), "sr_") {
			return p, true
		}
	}
	return 0, false
}

func multiCall(args []string, stdout, stderr io.Writer) int {
	s := say{"srpump", stderr}
	names := []string{hostCommand, saveCommand}
	for _, p := range Commands() {
		names = append(names, p.Program())
	}
	usage := "usage: srpump command [argument ...]\ncommands: " + strings.Join(names, " ") + "\n"
	if len(args) > 0 {
		switch args[0] {
		case "-h", "-help", "--help", "help":
			io.WriteString(stdout, usage)
			return ExitOK
		case "-V", "-version", "--version":
			io.WriteString(stdout, "srpump "+Version+"\n")
			return ExitOK
		}
		s.errorf("no command %q", args[0])
	}
	io.WriteString(stderr, usage)
	return ExitUsage
}

// gcPercent lets the heap of a few MiB grow to four times before it is collected: a tenth
// of the processor time of a busy flow for some MiB. What is large is kept off the heap.
const gcPercent = 300

func (with Pipelines) run(p config.Preset, args []string) int {
	return with.inProcess(p.Program(), args, p != config.Post, func(ctx context.Context, proc Process) int { return Run(ctx, p, proc) })
}

// hostCommand is the command for the whole host; it has no component.
const hostCommand = "sr"

func (with Pipelines) runHost(args []string) int {
	return with.inProcess(hostCommand, args, slices.Contains(args, foreground), RunHost)
}

// others are the commands that are no presets.
func (with Pipelines) others() map[string]func(args []string) int {
	return map[string]func([]string) int{hostCommand: with.runHost, saveCommand: with.runLog2Save}
}

func (with Pipelines) runLog2Save(args []string) int {
	return with.inProcess(saveCommand, args, false, RunLog2Save)
}

// inProcess gives a command what it gets of this process.
func (with Pipelines) inProcess(program string, args []string, reloads bool, command func(context.Context, Process) int) int {
	debug.SetGCPercent(gcPercent)
	log.SetOutput(io.Discard) // libraries that would write past the flow's own log
	env, err := config.HostEnv()
	if err != nil {
		say{program, os.Stderr}.errorf("%v", err)
		return ExitUsage
	}
	ctx, reload, stop := signals(context.Background(), reloads)
	defer stop()
	return command(ctx, Process{Args: args, Env: env, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Reload: reload, TTY: terminal, Pipelines: with})
}
