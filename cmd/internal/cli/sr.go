package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"

	"srpump/pump/config"
	"srpump/pump/daemon"
)

// A hostAction is what sr(1) does to all configurations of a host, or to those named.
type hostAction struct {
	name string
	args string // what may follow, for the help
	help string
	// flags are options of this action alone, without dashes.
	flags []string
	run   func(ctx context.Context, h *hostRun) error
}

// everything is what most actions of the host may be followed by.
const everything = "[configuration ...]"

// hostActions are the actions of sr(1), in the order of its page.
func hostActions() []hostAction {
	return []hostAction{
		{foreground, "configuration", "run one here, as its command would", nil, foregroundHost},
		{"start", everything, "start what is enabled and does not run", nil, startHost},
		{"stop", everything, "stop what runs", nil, stopHost},
		{"restart", everything, "stop and start", nil, onEach((*session).restart)},
		{"reload", everything, "have what runs read its configuration again", nil, onRunning((*session).reload)},
		{"status", everything, "print what runs, and what does not and should", []string{"json"}, statusHost},
		{"sanity", everything, "start again what was started and died or hangs", nil, onEach((*session).sanity)},
		{"declare", everything, "make queues and exchanges on the brokers", nil, declareHost},
		{"setup", everything, "the same, and bind the queues", nil, setupHost},
		{"check", everything, "say everything that is wrong with the configurations", []string{"json"}, checkHost},
		{"dump", everything, "print what is known of each configuration, as JSON", nil, dumpHost},
		{"adopt", "", "say what becomes of the files of a v02 host, and do it", []string{"dry-run", "go"}, adoptHost},
	}
}

// A hostRun is one run of sr(1).
type hostRun struct {
	say
	Process
	words [][]string      // options of the command line
	flags map[string]bool // of the action
	rest  []string        // what the action is for, as typed
}

// RunHost runs sr(1), and returns its exit status.
func RunHost(ctx context.Context, proc Process) int {
	h := &hostRun{say: say{"sr", proc.Stderr}, Process: proc, flags: make(map[string]bool)}
	args := h.takeFlags(proc.Args)
	words, rest, err := config.NormalizeArgs(args)
	switch {
	case err != nil:
		return h.misused(err)
	case given(words, "help"):
		io.WriteString(proc.Stdout, hostHelp())
		return ExitOK
	case given(words, "version"):
		fmt.Fprintf(proc.Stdout, "sr %s\n", Version)
		return ExitOK
	case len(rest) == 0:
		return h.misused(usagef("no action"))
	}
	i := slices.IndexFunc(hostActions(), func(a hostAction) bool { return a.name == rest[0] })
	if i < 0 {
		h.errorf("no action %q", rest[0])
		h.hint("sr -h lists the actions; others, such as list, show and explain, are those of single commands: sr_subscribe -h")
		return ExitUsage
	}
	a := hostActions()[i]
	for f := range h.flags {
		if !slices.Contains(a.flags, f) {
			return h.misused(usagef("%s has no option %q", a.name, f))
		}
	}
	h.words, h.rest = words, rest[1:]
	err = a.run(ctx, h)
	if err != nil && !told(err) {
		h.fail(err)
	}
	return status(err)
}

// takeFlags takes the options out that are of single actions and not in the table of all.
func (h *hostRun) takeFlags(args []string) []string {
	var known []string
	for _, a := range hostActions() {
		known = append(known, a.flags...)
	}
	return slices.DeleteFunc(slices.Clone(args), func(w string) bool {
		name := strings.TrimLeft(w, "-")
		if name == w || !slices.Contains(known, name) {
			return false
		}
		h.flags[name] = true
		return true
	})
}

func (h *hostRun) misused(err error) int {
	h.errorf("%v", err)
	h.hint("usage: " + HostUsage() + "; sr -h lists the actions")
	return ExitUsage
}

// HostUsage is the synopsis of sr(1).
func HostUsage() string { return "sr [option ...] action [configuration ...]" }

func hostHelp() string {
	var b strings.Builder
	b.WriteString("sr - all configurations of this host\n\nusage: " + HostUsage() + "\n\nactions:\n")
	for _, a := range hostActions() {
		options := ""
		for _, f := range a.flags {
			options += " [--" + f + "]"
		}
		fmt.Fprintf(&b, "  %-42s %s\n", a.name+options, a.help)
	}
	return b.String()
}

// A place is one configuration of the host.
type place struct {
	preset config.Preset
	daemon.Listed
}

func (p place) String() string { return p.preset.String() + "/" + p.Name }

// places are the configurations the arguments name, or all that can be at work on their own, by
// component and name.
func (h *hostRun) places() ([]place, error) { return h.placesBut(config.Post | config.Audit) }

// placesBut leaves out some components.
func (h *hostRun) placesBut(not config.Preset) ([]place, error) {
	all := h.audit()
	for _, p := range Commands() {
		if p&not != 0 {
			continue
		}
		listed, err := h.session(p, io.Discard).listed()
		if err != nil {
			return nil, err
		}
		for _, l := range listed {
			all = append(all, place{p, l})
		}
	}
	if len(h.rest) == 0 {
		if len(all) == 0 {
			h.hint("there is no configuration to work on in " + h.Env.ConfigDir())
		}
		return all, nil
	}
	for _, word := range h.rest {
		if !slices.ContainsFunc(all, func(p place) bool { return p.named(word) }) {
			return nil, usagef("no configuration is named %q", word)
		}
	}
	return slices.DeleteFunc(all, func(p place) bool { // each once, however often it is named
		return !slices.ContainsFunc(h.rest, p.named)
	}), nil
}

// audit is sr_audit, where there is an administrator for it to be, or while it runs. It has no
// configuration of its own.
func (h *hostRun) audit() []place {
	t, err := h.session(config.Audit, io.Discard).target(nil)
	if err != nil {
		return nil
	}
	if _, held, _ := daemon.Find(t.st); !held && !t.administered {
		return nil
	}
	return []place{{config.Audit, daemon.Listed{Name: t.name}}}
}

// target reads the configuration of a place.
func (p place) target(s *session) (target, error) {
	if p.preset == config.Audit {
		return s.target(nil)
	}
	return s.listedTarget(p.Listed), nil
}

// named reports whether a word is the component, with sr_ or without, or component/configuration.
func (p place) named(word string) bool {
	component, name, one := strings.Cut(strings.TrimPrefix(word, "sr_"), "/")
	return component == p.preset.String() && (!one || config.ConfigName(name) == p.Name)
}

func (h *hostRun) session(p config.Preset, out io.Writer) *session {
	proc := h.Process
	proc.Stdout, proc.Stderr, proc.TTY, proc.Reload = out, out, nil, nil
	return &session{say: say{p.Program(), out}, Process: proc, preset: p, words: h.words, parent: new(daemon.Parent)}
}

// spawnsAtOnce is how many configurations are started or asked at a time: most of it is waiting for brokers.
const spawnsAtOnce = 8

// each does something with each configuration, several at a time. What one has to say comes in
// one piece; errors go to standard error. The worst status is returned.
func (h *hostRun) each(ctx context.Context, places []place, do func(*session, context.Context, target) error) error {
	var (
		mu    sync.Mutex
		work  sync.WaitGroup
		worst int
		room  = make(chan struct{}, max(spawnsAtOnce, runtime.NumCPU()))
	)
	for _, p := range places {
		room <- struct{}{}
		work.Go(func() {
			defer func() { <-room }()
			var out, errs bytes.Buffer
			s := h.session(p.preset, &errs)
			s.Stdout = &out
			code := s.perform(ctx, &action{run: func(ctx context.Context, s *session, _ []string) error {
				t, err := p.target(s)
				if err != nil {
					return err
				}
				return do(s, ctx, t)
			}}, nil)
			mu.Lock()
			defer mu.Unlock()
			worst = max(worst, code)
			_, _ = out.WriteTo(h.Stdout)
			_, _ = errs.WriteTo(h.Stderr)
		})
	}
	work.Wait()
	if worst != ExitOK {
		return exitStatus(worst)
	}
	return nil
}

// onEach makes an action of the host of one of a configuration.
func onEach(do func(*session, context.Context, target) error) func(context.Context, *hostRun) error {
	return func(ctx context.Context, h *hostRun) error {
		places, err := h.places()
		if err != nil {
			return err
		}
		return h.each(ctx, places, do)
	}
}

// onRunning leaves out what does not run.
func onRunning(do func(*session, context.Context, target) error) func(context.Context, *hostRun) error {
	return onEach(func(s *session, ctx context.Context, t target) error {
		if _, held, err := daemon.Find(t.st); err == nil && !held {
			return nil
		}
		return do(s, ctx, t)
	})
}

// actionOf is the action of the component of a configuration, as if it were typed; disabled
// ones are left out.
func actionOf(name string) func(*session, context.Context, target) error {
	return func(s *session, ctx context.Context, t target) error {
		a, _ := findAction(s.preset, name)
		switch {
		case a == nil || t.disabled || t.gone:
			return nil
		case t.bad:
			return usageError{errSaid}
		}
		return a.run(ctx, s, []string{s.cfg.Path})
	}
}

// foregroundHost runs one configuration in this process: for a supervisor, whose units have names of one word.
func foregroundHost(ctx context.Context, h *hostRun) error {
	if len(h.rest) != 1 {
		return usagef("foreground needs one configuration, as component/name")
	}
	component, name, named := strings.Cut(h.rest[0], "/")
	p, ok := preset(component)
	if !ok || named != (p != config.Audit) {
		return usagef("no configuration is named %q", h.rest[0])
	}
	proc := h.Process
	proc.Args = append(optionArgs(h.words), foreground)
	if named {
		proc.Args = append(proc.Args, name)
	}
	if code := Run(ctx, p, proc); code != ExitOK {
		return exitStatus(code)
	}
	return nil
}

// stopHost stops the audit first, which would start again what is about to be stopped.
func stopHost(ctx context.Context, h *hostRun) error {
	places, err := h.places()
	if err != nil {
		return err
	}
	audits := slices.IndexFunc(places, func(p place) bool { return p.preset != config.Audit })
	if audits < 0 {
		audits = len(places)
	}
	first := h.each(ctx, places[:audits], (*session).stop)
	return cmp.Or(h.each(ctx, places[audits:], (*session).stop), first)
}

// hostSanity is sr sanity for the audit, which logs what it did.
func (s *session) hostSanity(ctx context.Context) {
	var said bytes.Buffer
	proc := s.Process
	proc.Args, proc.Stdout, proc.Stderr = []string{"sanity"}, &said, &said
	RunHost(ctx, proc)
	for line := range strings.Lines(said.String()) {
		s.log.Warn("looked after", "said", strings.TrimSuffix(line, "\n"))
	}
}
