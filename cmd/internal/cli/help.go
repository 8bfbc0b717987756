package cli

import (
	"fmt"
	"io"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"srpump/pump/config"
)

// A command is what the option table does not say about a preset: one line of purpose and
// the arguments behind the options.
type command struct {
	purpose string
	usage   string
}

func describe(p config.Preset) command {
	switch p {
	case config.Post:
		return command{"announce files", "sr_post [option ...] [foreground] [config] [path ...]"}
	case config.Watch:
		return command{"announce files as they change", "sr_watch [option ...] [action] [config] [path ...]"}
	case config.Poll:
		return command{"announce files as they appear on a server", "sr_poll [option ...] [action] [config]"}
	case config.Winnow:
		return command{"pass on each announcement once", "sr_winnow [option ...] [action] [config]"}
	case config.Shovel:
		return command{"move announcements from one broker to another", "sr_shovel [option ...] [action] [config]"}
	case config.Sarra:
		return command{"fetch announced files and announce the copies", "sr_sarra [option ...] [action] [config]"}
	case config.Subscribe:
		return command{"fetch announced files", "sr_subscribe [option ...] [action] [config]"}
	case config.Audit:
		return command{"users, permissions, exchanges and queues of a broker", "sr_audit [option ...] [action] [config]"}
	case config.Sender:
		return command{"deliver announced files", "sr_sender [option ...] [action] [config]"}
	case config.Report:
		return command{"read what became of announcements", "sr_report [option ...] [action] [config]"}
	case config.Spool:
		return command{"messages of any exchange as files, and files as messages", "sr_spool [option ...] [in | out | save | restore] [action] [config] [segment ...]"}
	case config.Serve:
		return command{"serve a directory over HTTP", "sr_serve [option ...] [foreground] [config] [directory]"}
	}
	return command{}
}

// Usage is the synopsis of a command, as its manual page has it.
func Usage(p config.Preset) string { return describe(p).usage }

// app is the command for urfave/cli: its flags are the rows of the option table.
func app(p config.Preset, out io.Writer, action func() error) *ucli.App {
	d := describe(p)
	a := &ucli.App{
		Name: p.Program(), Usage: d.purpose, UsageText: d.usage, Description: actionsHelp(p), Version: Version, Writer: out, ErrWriter: out,
		HideHelpCommand: true, HideHelp: true, HideVersion: true,
		CustomAppHelpTemplate: helpTemplate, ExitErrHandler: func(*ucli.Context, error) {},
		Action: func(*ucli.Context) error { return action() },
	}
	return a
}

const helpTemplate = `{{.Name}} - {{.Usage}}

usage: {{.UsageText}}
{{.Description}}
options, here or in a configuration (see sr_options(5)):
{{range .VisibleFlags}}  {{.}}
{{end}}`

// actionWords are the actions of a command as its help and its page list them: each with what may
// follow, and what it does.
func actionWords(p config.Preset) [][2]string {
	rows := actions(p)
	if len(rows) == 0 {
		return nil
	}
	out := [][2]string{{foreground + " [config]", "run it here; the same as without an action"}}
	for _, a := range rows {
		out = append(out, [2]string{strings.TrimSpace(a.name + " " + a.args), a.help})
	}
	return out
}

func actionsHelp(p config.Preset) string {
	rows := actionWords(p)
	if len(rows) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nactions:\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "  %-42s %s\n", r[0], r[1])
	}
	return b.String()
}

// An optionFlag shows one row of the option table in the help.
type optionFlag struct {
	ucli.BoolFlag
	o *config.Option
	p config.Preset
}

func (f *optionFlag) String() string {
	names := "-" + f.o.Name
	if f.o.Arg != "" {
		names += " " + f.o.Arg
	}
	for _, a := range f.o.Aliases {
		if len(a) <= 3 {
			names += ", -" + a
		}
	}
	help := f.o.Help
	if d := f.o.DefaultFor(f.p); d != "" && d != "off" && d != "0" {
		help += " (" + d + ")"
	}
	return fmt.Sprintf("%-42s %s", names, help)
}

func flags(p config.Preset) []ucli.Flag {
	var out []ucli.Flag
	rows := config.Table()
	for i := range rows {
		if o := &rows[i]; o.Applies(p) {
			out = append(out, &optionFlag{ucli.BoolFlag{Name: o.Name}, o, p})
		}
	}
	return out
}

// help prints the usage and every option of the command.
func help(p config.Preset, out io.Writer) error {
	a := app(p, out, nil)
	a.Flags = flags(p)
	a.Action = func(c *ucli.Context) error { return ucli.ShowAppHelp(c) }
	return a.Run([]string{p.Program()})
}

// shortUsage is what a mistake on the command line is answered with.
func shortUsage(p config.Preset) string {
	return fmt.Sprintf("usage: %s; %s -h lists the options", strings.TrimSpace(describe(p).usage), p.Program())
}
