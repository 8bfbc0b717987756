package audit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"srpump/pump/manage"
)

// Holdings are what a broker has.
type Holdings struct {
	Self        string // who asks
	Users       []manage.User
	Permissions []manage.Permission
	Exchanges   []manage.Exchange
	Queues      []manage.Queue
}

// A Kind says what a change does to its object, in the words of the log.
type Kind string

// The kinds. Those that delete come last in a plan.
const (
	MakeUser       Kind = "make user"
	SetUser        Kind = "set user"
	SetPermission  Kind = "set permissions"
	MakeExchange   Kind = "make exchange"
	DeleteUser     Kind = "delete user"
	DeleteExchange Kind = "delete exchange"
	DeleteQueue    Kind = "delete queue"
	Leave          Kind = "leave" // noticed, and not touched
)

// A Change is one thing to do, and why.
type Change struct {
	Kind   Kind
	Object string // name of the user, exchange or queue
	Why    string

	do func(context.Context, *manage.Client) error // nil for what is left
}

// Deletes reports whether something is lost by it.
func (c Change) Deletes() bool {
	return c.Kind == DeleteUser || c.Kind == DeleteExchange || c.Kind == DeleteQueue
}

// Options are those of the command.
type Options struct {
	SetPasswords bool // of users that are made
	Reset        bool // and of those that exist
	MaxQueueSize int  // messages
}

// guest is the user every broker has from its installation, known only from the broker's own host.
const guest = "guest"

// PlanUsers compares users, permissions, exchanges and queues with the roster.
func PlanUsers(r *Roster, h *Holdings, o Options) []Change {
	out := slices.Concat(planAccounts(r, h, o), planRights(r, h), planExchanges(r, h))
	if !r.Clients() {
		return append(out, Change{Kind: Leave, Object: "what is not configured",
			Why: "no source or subscriber is declared, so nothing is deleted"})
	}
	return unique(slices.Concat(out, strangers(r, h), strangeExchanges(r, h), Police(r, h, o), strangeQueues(r, h)))
}

// unique keeps the first of several reasons for one change.
func unique(changes []Change) []Change {
	type key struct {
		Kind
		object string
	}
	seen := make(map[key]bool)
	return slices.DeleteFunc(changes, func(c Change) bool {
		k := key{c.Kind, c.Object}
		again := seen[k]
		seen[k] = true
		return again
	})
}

func planAccounts(r *Roster, h *Holdings, o Options) []Change {
	var out []Change
	for _, a := range r.Accounts {
		i := slices.IndexFunc(h.Users, func(u manage.User) bool { return u.Name == a.Name })
		var tags manage.Tags
		if i >= 0 {
			tags = slices.Clone(h.Users[i].Tags)
		}
		short := a.Role == Admin && !slices.Contains(tags, manage.Administrator)
		if short {
			tags = append(tags, manage.Administrator)
		}
		switch {
		case i >= 0 && !short && (!o.Reset || a.Name == h.Self):
		case a.Password == "" || i < 0 && !o.SetPasswords:
			out = append(out, Change{Kind: Leave, Object: a.Name, Why: "user without a password in credentials.conf, or set_passwords is off"})
		case i < 0:
			out = append(out, putUser(MakeUser, a, tags, "declared "+string(a.Role)))
		default:
			out = append(out, putUser(SetUser, a, tags, "password and tags as configured"))
		}
	}
	return out
}

func putUser(k Kind, a Account, tags manage.Tags, why string) Change {
	return Change{k, a.Name, why, func(ctx context.Context, c *manage.Client) error {
		return c.PutUser(ctx, a.Name, string(a.Password), tags...)
	}}
}

func planRights(r *Roster, h *Holdings) []Change {
	var out []Change
	for _, a := range r.Accounts {
		want := a.Rights()
		if slices.Contains(h.Permissions, want) {
			continue
		}
		out = append(out, Change{SetPermission, a.Name, fmt.Sprintf("%s: configure %s write %s read %s", a.Role, want.Configure, want.Write, want.Read),
			func(ctx context.Context, c *manage.Client) error { return c.SetPermission(ctx, want) }})
	}
	return out
}

func planExchanges(r *Roster, h *Holdings) []Change {
	var out []Change
	for _, x := range r.WantedExchanges() {
		if slices.ContainsFunc(h.Exchanges, func(e manage.Exchange) bool { return e.Name == x }) {
			continue
		}
		out = append(out, Change{MakeExchange, x, "configured", func(ctx context.Context, c *manage.Client) error { return c.PutExchange(ctx, x) }})
	}
	return out
}

// strangers are users nobody declared. The administrators and guest are left: whoever deletes the last way
// into a broker cannot take it back.
func strangers(r *Roster, h *Holdings) []Change {
	var out []Change
	for _, u := range h.Users {
		switch {
		case r.Has(u.Name) || u.Name == h.Self:
		case u.IsAdministrator() || u.Name == guest:
			out = append(out, Change{Kind: Leave, Object: u.Name, Why: "not declared, but an administrator or guest: rabbitmqctl delete_user " + u.Name})
		default:
			out = append(out, Change{DeleteUser, u.Name, "not declared", func(ctx context.Context, c *manage.Client) error { return c.DeleteUser(ctx, u.Name) }})
		}
	}
	return out
}

func strangeExchanges(r *Roster, h *Holdings) []Change {
	var out []Change
	wanted := r.WantedExchanges()
	for _, x := range h.Exchanges {
		theirs := strings.HasPrefix(x.Name, "xs_") || strings.HasPrefix(x.Name, "xr_") || strings.HasPrefix(x.Name, "xl_")
		why := ""
		switch {
		case x.Name == "", strings.HasPrefix(x.Name, "amq."), x.Internal, slices.Contains(wanted, x.Name):
		case theirs && !r.owns(x.Name, "xs_", "xr_", "xl_") && x.Name != "xs_mqtt_public":
			why = "of a user who is not declared"
		case !strings.HasPrefix(x.Name, "x"):
			why = "its name does not begin with x"
		case !theirs:
			out = append(out, Change{Kind: Leave, Object: x.Name, Why: "exchange nobody declared"})
		}
		if why != "" {
			out = append(out, Change{DeleteExchange, x.Name, why, func(ctx context.Context, c *manage.Client) error { return c.DeleteExchange(ctx, x.Name) }})
		}
	}
	return out
}
