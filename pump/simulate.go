package pump

import (
	"errors"
	"log/slog"
	"os"

	"srpump/pump/broker"
	"srpump/pump/config"
)

// errSimulate is a run that is to change nothing, and is told to.
var errSimulate = errors.New("cannot simulate with save, restore or reset: they change what waits")

// simulates settles whether a sr_sender says what it would deliver, and does nothing: its state is
// a directory of its own, removed at the end, and nothing taken in is acknowledged.
func (p *plan) simulates(c *config.Config) error {
	v := c.Values
	p.simulate = v.Bool("simulate")
	if p.simulate && (v.Bool("save") || v.Bool("restore") || v.Bool("reset")) {
		return about("simulate", errSimulate)
	}
	return nil
}

// A looker consumes without an answer: what it was given is everybody's again when it goes.
type looker struct{ broker.Consumer }

// Ack implements broker.Consumer, and does nothing.
func (looker) Ack(...broker.Tag) error { return nil }

// onlyLook keeps a flow that simulates from taking anything out of a queue.
func (f *Flow) onlyLook() {
	if f.plan.simulate {
		f.consumer = looker{f.consumer}
	}
}

// wouldDeliver says what j would have become.
func (f *Flow) wouldDeliver(j *job) {
	var trouble slog.Attr // ignored while it is empty
	if kindOf(j.a) == "change" && j.hasFile() {
		if _, err := os.Stat(j.from.Local); err != nil {
			trouble = slog.Any("error", err)
		}
	}
	f.host.Log.Info("would deliver", "path", j.from.Local, "url", config.Redact(f.plan.deliveredURL(j.at)), "event", kindOf(j.a), "sum", j.a.Sum, trouble)
	f.end(j, dropped)
}
