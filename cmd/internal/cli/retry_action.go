package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"srpump/pump/config"
	"srpump/pump/daemon"
	"srpump/pump/retry"
)

// retryActions are for what is to be tried again, and what was given up.
func retryActions(p config.Preset) []action {
	if p&(config.Post|config.Watch|config.Poll|config.Serve|config.Audit|config.Spool) != 0 {
		return nil
	}
	return []action{{"retry", "list|requeue|drop|export config [pattern ...]", "see and change what is tried again and what was given up",
		func(ctx context.Context, s *session, args []string) error { return s.retry(ctx, args) }}}
}

// retryVerbs are the words behind retry.
func retryVerbs() []string { return []string{"list", retry.Requeue, retry.Drop, "export"} }

// retry does one of the verbs with the state of a configuration, whether or not a process runs it.
func (s *session) retry(ctx context.Context, args []string) error {
	asJSON := given(s.words, "json")
	s.words = slices.DeleteFunc(s.words, func(w []string) bool { return w[0] == "json" })
	if len(args) < 2 || !slices.Contains(retryVerbs(), args[0]) {
		return usagef("retry needs list, requeue, drop or export, and a configuration behind it")
	}
	verb, patterns := args[0], args[2:]
	if verb == retry.Drop && len(patterns) == 0 {
		return usagef("drop needs a pattern; '*' is everything")
	}
	t, err := s.target(args[1:2])
	if err != nil {
		return err
	}
	switch verb {
	case "list":
		return s.listRetries(t.st, patterns, asJSON)
	case "export":
		_, err := retry.Export(t.st.Dir(), s.Stdout, patterns)
		return err
	}
	if err := matched(t.st, verb, patterns); err != nil {
		return err
	}
	return s.orderRetries(ctx, t.st, retry.Order{Do: verb, Patterns: patterns})
}

// matched fails when an order would be about nothing. What it did says less: of one that was cut short by a kill only
// the rest is counted.
func matched(st config.State, verb string, patterns []string) error {
	list, err := retry.List(st.Dir())
	if err != nil {
		return fmt.Errorf("cannot list retries: %w", err)
	}
	if len(patterns) > 0 && !slices.ContainsFunc(list, func(l retry.Listed) bool { return retry.Matches(patterns, l.Path) }) {
		return fmt.Errorf("cannot %s %q: nothing matches", verb, patterns)
	}
	return nil
}

// listRetries prints a table, or a JSON object a line. Passwords are masked.
func (s *session) listRetries(st config.State, patterns []string, asJSON bool) error {
	list, err := retry.List(st.Dir())
	if err != nil {
		return fmt.Errorf("cannot list retries: %w", err)
	}
	list = slices.DeleteFunc(list, func(l retry.Listed) bool { return !retry.Matches(patterns, l.Path) })
	now := time.Now()
	rows, dead := [][]string{{"PATH", "TRIES", "AGE", "NEXT", "WHY"}}, 0
	for _, l := range list {
		l.Base, l.Why = config.RedactText(l.Base), config.RedactText(l.Why)
		if l.Dead {
			dead++
		}
		if asJSON {
			if err := json.NewEncoder(s.Stdout).Encode(l); err != nil {
				return err
			}
			continue
		}
		rows = append(rows, []string{l.Path, strconv.Itoa(l.Tries), age(l.Since, now), nextTry(l, now), shown(l.Why)})
	}
	if !asJSON && len(list) > 0 {
		s.table(fmt.Sprintf("%d waiting, %d given up", len(list)-dead, dead), rows)
	}
	return nil
}

func age(since, now time.Time) string {
	if since.IsZero() {
		return "-"
	}
	return strings.TrimSpace(humanize.RelTime(since, now, "", ""))
}

// nextTry says when an entry is due.
func nextTry(l retry.Listed, now time.Time) string {
	switch {
	case l.Dead:
		return "given up"
	case !l.Next.After(now):
		return "now"
	}
	return "in " + l.Next.Sub(now).Round(time.Second).String()
}

// orderPatience is how long a running process may take to carry an order out.
const orderPatience = 10 * time.Second

// orderRetries leaves an order, and sees to it that it is carried out: by the process that runs the
// configuration, or here when there is none.
func (s *session) orderRetries(ctx context.Context, st config.State, o retry.Order) error {
	name, err := retry.Submit(st.Dir(), o, time.Now())
	if err != nil {
		return fmt.Errorf("cannot give the order: %w", err)
	}
	look := time.NewTicker(logLook / 4)
	defer look.Stop()
	for end := time.Now().Add(orderPatience); ; {
		if err := s.obeyHere(st); err != nil {
			return err
		}
		out, there, err := retry.Answer(st.Dir(), name)
		switch {
		case err != nil:
			return fmt.Errorf("cannot read what became of the order: %w", err)
		case there:
			return s.sayOutcome(o, out)
		case time.Now().After(end):
			s.warningf("the process that runs it has not answered in %v; it will, and no later than when it is started again", orderPatience)
			return nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// obeyHere carries out orders when no process has the configuration.
func (s *session) obeyHere(st config.State) error {
	lock, err := daemon.Take(st, 0)
	if errors.Is(err, daemon.ErrBusy) {
		return nil
	}
	if err != nil {
		return err
	}
	defer lock.Release()
	if pid, found := daemon.Stranger(st); found {
		return s.strange(pid)
	}
	q, err := retry.Open(st.Dir(), retry.Options{})
	if err != nil {
		return err
	}
	q.Obey(func(retry.Order, retry.Outcome) {})
	return q.Close()
}

func (s *session) sayOutcome(o retry.Order, out retry.Outcome) error {
	if out.Error != "" {
		return fmt.Errorf("cannot %s: %s", o.Do, out.Error)
	}
	what := map[string]string{retry.Requeue: "due now", retry.Drop: "dropped"}[o.Do]
	s.sayf("%s: %d waiting, %d given up", what, out.Waiting, out.Dead)
	if out.Left > 0 {
		s.warningf("%d dead letters cannot be understood and stay where they are", out.Left)
	}
	return nil
}
