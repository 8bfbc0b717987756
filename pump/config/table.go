package config

import (
	"fmt"
	"strings"
)

// Preset names a command, or as a bit set several of them.
type Preset uint16

// The presets. Each is also a component: a directory of configurations.
const (
	Post Preset = 1 << iota
	Watch
	Poll
	Subscribe
	Sarra
	Winnow
	Shovel
	Sender
	Report
	Serve
	Audit
	Spool
)

// The groups of presets which share options.
const (
	posters   = Post | Watch | Poll
	fetchers  = Subscribe | Sarra | Sender
	consumers = fetchers | Winnow | Shovel | Report
	pumps     = posters | consumers
	all       = pumps | Serve | Audit | Spool
)

// Presets returns every preset, in the order of the manual.
func Presets() []Preset {
	return []Preset{Post, Watch, Poll, Subscribe, Sarra, Winnow, Shovel, Sender, Report, Serve, Audit, Spool}
}

// String returns the name of a component such as "sarra".
func (p Preset) String() string {
	switch p {
	case Post:
		return "post"
	case Watch:
		return "watch"
	case Poll:
		return "poll"
	case Subscribe:
		return "subscribe"
	case Sarra:
		return "sarra"
	case Winnow:
		return "winnow"
	case Shovel:
		return "shovel"
	case Sender:
		return "sender"
	case Report:
		return "report"
	case Serve:
		return "serve"
	case Audit:
		return "audit"
	case Spool:
		return "spool"
	}
	return fmt.Sprintf("preset(%#x)", uint16(p))
}

// Program returns the name of the command, such as "sr_sarra".
func (p Preset) Program() string { return "sr_" + p.String() }

// Kind says what the words behind an option may be.
type Kind int

// The kinds of options.
const (
	KindBool     Kind = iota + 1 // true yes on 1, or nothing, is true
	KindInt                      // a whole number, at least Option.Min
	KindSize                     // bytes, with K M G T as powers of 1024
	KindDuration                 // seconds, or a number with s m h d w; none is 0
	KindOctal                    // permission bits
	KindString                   // one word
	KindChoice                   // one of Option.Choices
	KindList                     // words, cut at the characters of Option.Sep
	KindURL                      // a URL, or - for a pipe
	KindAddress                  // an IP address; none is empty
	KindCommand                  // a whole line, the words of a command; none is empty
	KindRule                     // accept, reject: a pattern and perhaps a file option
	KindSubtopic                 // one binding with the exchange and prefix in force
	KindInclude                  // another file read here
)

// Section is the chapter of the manual an option stands in.
type Section string

// The sections, in the order of the manual.
const (
	SectionCommand   Section = "command"
	SectionBroker    Section = "broker"
	SectionPost      Section = "post"
	SectionSelect    Section = "select"
	SectionPlacement Section = "placement"
	SectionFetch     Section = "fetch"
	SectionWinnow    Section = "winnow"
	SectionRetry     Section = "retry"
	SectionLog       Section = "log"
	SectionPoll      Section = "poll"
	SectionHost      Section = "host"
	SectionHook      Section = "hook"
	SectionSpool     Section = "spool"
	SectionIgnored   Section = "ignored"
)

// Override is a default which holds for some presets only.
type Override struct {
	For   Preset
	Value string
}

// Option is one row of the table.
type Option struct {
	Name    string
	Aliases []string
	Kind    Kind
	Arg     string // the word of the synopsis that stands for the value; empty for booleans
	Default string // as it would be written in a file; empty is none, or "chosen by the flow"
	Per     []Override
	// Fixed says that an override comes after <component>.conf and undoes
	// what the shared files say: only the configuration itself and the
	// command line change it.
	Fixed   bool
	Bare    string   // what the option means without a value; empty when it needs one
	Choices []string // accepted words; "normal|medium" accepts both and yields the first
	Sep     string   // characters which separate the items of a list within a word
	Min     int      // least value of a KindInt
	Unit    string   // of a KindDuration written as a bare number; empty is seconds
	Low     string   // a duration; shorter ones draw a warning
	Section Section
	Help    string
	For     Preset // the presets it has an effect on
	Multi   bool   // a repeated line adds to the list instead of replacing it
	// Late says that dates, captures and the like in ${...} are left for the
	// time a file is placed.
	Late        bool
	CommandOnly bool // not accepted in a file
	// NoEffect marks what v02 configurations may hold and nothing here acts
	// on; For still says which commands such an option was for.
	NoEffect bool
}

// Table returns the rows of all options, by section and then by name. It
// builds them anew on each call, so that a program which asks for none pays
// nothing and nobody can change another's table.
func Table() []Option {
	rows := make([]Option, 0, 192)
	for _, part := range []func() []Option{
		commandRows, brokerRows, postRows, selectRows, placementRows,
		fetchRows, winnowRows, retryRows, logRows,
		pollRows, hostRows, hookRows, spoolRows, ignoredRows,
	} {
		rows = append(rows, part()...)
	}
	return rows
}

// DefaultFor returns the default of an option for one preset, as it would be
// written in a file.
func (o *Option) DefaultFor(p Preset) string {
	if v, ok := o.override(p); ok {
		return v
	}
	return o.Default
}

// Applies reports whether the option has an effect on the preset.
func (o *Option) Applies(p Preset) bool { return o.For&p != 0 }

func (o *Option) override(p Preset) (string, bool) {
	for _, v := range o.Per {
		if v.For&p != 0 {
			return v.Value, true
		}
	}
	return "", false
}

// index finds a row by name or alias.
type index struct {
	rows []Option
	at   map[string]int
}

func newIndex() *index { return indexOf(Table()) }

func indexOf(rows []Option) *index {
	x := &index{rows: rows, at: make(map[string]int, 2*len(rows))}
	for i := range x.rows {
		x.at[x.rows[i].Name] = i
		for _, a := range x.rows[i].Aliases {
			x.at[a] = i
		}
	}
	return x
}

// find accepts a name with leading dashes, and a dash for each underscore
// within it.
func (x *index) find(name string) (*Option, bool) {
	i, ok := x.at[strings.ReplaceAll(bareName(name), "-", "_")]
	if !ok {
		return nil, false
	}
	return &x.rows[i], true
}

func bareName(word string) string { return strings.TrimLeft(word, "-") }
