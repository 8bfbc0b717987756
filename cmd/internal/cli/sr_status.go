package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"srpump/pump/config"
	"srpump/pump/daemon"
)

// A hostState is what sr status --json prints: a document for programs.
type hostState struct {
	Configurations []flowState `json:"configurations"`
	Running        int         `json:"running"`   // configurations
	Processes      int         `json:"processes"` // of ours
	Missing        int         `json:"missing"`   // started, and dead
	Stray          int         `json:"stray"`     // without a configuration, or of another program
}

// A flowState is what is known of one configuration.
type flowState struct {
	Component string           `json:"component"`
	Config    string           `json:"config"`
	State     string           `json:"state"`
	Good      bool             `json:"good"`
	PID       int              `json:"pid,omitempty"`
	Note      string           `json:"note,omitempty"`
	Path      string           `json:"path,omitempty"`
	StateDir  string           `json:"state_dir"`
	Log       string           `json:"log,omitempty"`
	Progress  *daemon.Progress `json:"progress,omitempty"`

	stray bool
}

// statePartial is a configuration that should run and does not: v02 has it of one of whose
// instances some are missing.
const statePartial = "partial"

// statusHost prints the table of sr status, or with --json a document.
func statusHost(ctx context.Context, h *hostRun) error {
	all, err := h.state(ctx)
	if err != nil {
		return err
	}
	if h.flags["json"] {
		err = writeJSON(h.Stdout, all)
	} else {
		err = all.table(h.Stdout)
	}
	if err == nil && !all.good() {
		return exitStatus(ExitFailed)
	}
	return err
}

// dumpHost prints the document, whatever is in it.
func dumpHost(ctx context.Context, h *hostRun) error {
	all, err := h.state(ctx)
	if err != nil {
		return err
	}
	return writeJSON(h.Stdout, all)
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// state looks at every configuration. It loads each only for where its state is.
func (h *hostRun) state(ctx context.Context) (*hostState, error) {
	places, err := h.places()
	if err != nil {
		return nil, err
	}
	all := &hostState{Configurations: make([]flowState, len(places))}
	slots := make(map[string]*flowState, len(places))
	for i, p := range places {
		slots[p.String()] = &all.Configurations[i]
	}
	var said bytes.Buffer
	quiet := *h
	quiet.Stderr = &said // what is wrong with a configuration is told where it is used
	err = quiet.each(ctx, places, func(s *session, _ context.Context, t target) error {
		*slots[s.preset.String()+"/"+t.name] = s.flowState(t)
		return nil
	})
	if err != nil {
		_, _ = said.WriteTo(h.Stderr)
		return nil, err
	}
	for i := range all.Configurations {
		all.add(&all.Configurations[i])
	}
	return all, nil
}

func (s *session) flowState(t target) flowState {
	l := t.look()
	f := flowState{Component: s.preset.String(), Config: t.name, State: l.state, PID: l.pid, StateDir: t.st.Dir(), Progress: l.progress}
	if s.cfg != nil && !t.gone && !t.disabled {
		f.Path, f.Log = s.cfg.Path, s.logPath(daemon.Started)
	}
	f.stray = l.stranger || l.pid > 0 && (l.gone || l.disabled)
	switch {
	case l.err != nil:
		f.Note = l.err.Error()
	case l.stranger:
		f.Note = "by another program"
	case l.gone && l.pid > 0:
		f.Note = "its configuration is gone"
	case l.disabled && l.pid > 0:
		f.Note = "its configuration is disabled"
	case t.bad:
		f.Note = "cannot be used"
	}
	switch {
	case l.state == stateStarting:
		f.State = stateRunning
	case l.state == stateStopped && daemon.Wanted(t.st):
		f.State = statePartial
	}
	f.Good = f.Note == "" && slices.Contains([]string{stateRunning, stateStopped, stateDisabled}, f.State)
	return f
}

func (a *hostState) add(f *flowState) {
	switch {
	case f.stray:
		a.Stray++
	case f.State == statePartial:
		a.Missing++
	case f.PID > 0:
		a.Running++
	}
	if f.PID > 0 {
		a.Processes++
	}
}

func (a *hostState) good() bool {
	return !slices.ContainsFunc(a.Configurations, func(f flowState) bool { return !f.Good })
}

// table prints one line for each component and state.
func (a *hostState) table(w io.Writer) error {
	var b strings.Builder
	row := func(component, state, good, qty, configs string) {
		b.WriteString(strings.TrimRight(fmt.Sprintf("%-10s %-11s %-5s %4s %s", component, state, good, qty, configs), " ") + "\n")
	}
	row("Component", "State", "Good?", "Qty", "Configurations-i(r/e)-r(Retry)")
	row("---------", "-----", "-----", "---", "------------------------------")
	for _, g := range a.groups() {
		good := "OK"
		if !g[0].Good {
			good = "NO"
		}
		var names []string
		for _, f := range g {
			names = append(names, f.word())
		}
		row(g[0].Component, g[0].State, good, fmt.Sprint(len(g)), strings.Join(names, " "))
	}
	fmt.Fprintf(&b, "      total running configs: %3d ( processes: %d missing: %d stray: %d )\n", a.Running, a.Processes, a.Missing, a.Stray)
	_, err := io.WriteString(w, b.String())
	return err
}

// groups are the configurations of one component in one state, in the order of the commands.
func (a *hostState) groups() (out [][]flowState) {
	rank := func(f flowState) int {
		return slices.IndexFunc(config.Presets(), func(p config.Preset) bool { return p.String() == f.Component })
	}
	sorted := slices.Clone(a.Configurations)
	slices.SortStableFunc(sorted, func(x, y flowState) int {
		return cmp.Or(cmp.Compare(rank(x), rank(y)), strings.Compare(x.State, y.State), cmp.Compare(len(x.Note), len(y.Note)))
	})
	for i, f := range sorted {
		if i == 0 || f.Component != sorted[i-1].Component || f.State != sorted[i-1].State || f.Good != sorted[i-1].Good {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], f)
	}
	return out
}

// word is a configuration with its processes, running of expected, what waits to be tried again, and
// what the filter of a stage holds and what waits for it.
func (f flowState) word() string {
	s := f.Config
	switch {
	case f.PID > 0:
		s += "-i1/1"
	case f.State == statePartial:
		s += "-i0/1"
	}
	if f.Progress != nil && f.Progress.Retries > 0 {
		s += fmt.Sprintf("-r%d", f.Progress.Retries)
	}
	if f.Progress != nil {
		if n := f.Progress.Counters; n["stage_held"]+n["stage_waiting"] > 0 {
			s += fmt.Sprintf("-s%d/%d", n["stage_held"], n["stage_waiting"])
		}
	}
	if f.Note != "" {
		s += "(" + f.Note + ")"
	}
	return s
}

// told reports whether an error was said where it was found.
func told(err error) bool { return errors.Is(err, errSaid) || errors.As(err, new(exitStatus)) }
