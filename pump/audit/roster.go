package audit

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"srpump/pump/config"
)

// A Role is what a user of the broker is for.
type Role string

// The roles, as sr_audit(1) has them.
const (
	Admin      Role = "admin"
	Feeder     Role = "feeder"
	Source     Role = "source"
	Subscriber Role = "subscriber"
)

// An Account is a user as configured.
type Account struct {
	Name     string
	Role     Role
	Password config.Secret // empty when credentials.conf has none
}

// A Roster is everybody, and the exchanges that are declared by name.
type Roster struct {
	Accounts  []Account // the administrator first
	Exchanges []string
}

// ReadRoster reads the options admin, feeder and declare. A user with two roles has the one that allows
// more. It fails when there is no administrator, or a declaration nobody understands.
func ReadRoster(c *config.Config) (*Roster, error) {
	r := new(Roster)
	at := c.Values.String("admin")
	if at == "" {
		return nil, ErrNoAdmin
	}
	admin, err := account(c, at)
	if err != nil {
		return nil, fmt.Errorf("cannot read option admin: %w", err)
	}
	r.add(Account{admin.User, Admin, admin.Password})
	if feeder := c.Values.String("manager"); feeder != "" {
		f, err := account(c, feeder)
		if err != nil {
			return nil, fmt.Errorf("cannot read option feeder: %w", err)
		}
		r.add(Account{f.User, Feeder, f.Password})
	}
	return r, r.declared(c, admin)
}

// errNoUser is a URL of the pump's own users that names none: what it stands for elsewhere, an account
// without a name, would own everything here.
var errNoUser = errors.New("the URL names no user: write amqp://user@host/")

func account(c *config.Config, url string) (config.Credential, error) {
	_, rest, _ := strings.Cut(url, "://")
	if user, _, named := strings.Cut(rest, "@"); !named || user == "" || strings.HasPrefix(user, ":") {
		return config.Credential{}, fmt.Errorf("cannot use %q: %w", config.Redact(url), errNoUser)
	}
	return c.Credentials.Broker(url, false)
}

// ErrNoAdmin is a configuration without the option admin.
var ErrNoAdmin = errors.New("cannot manage users: the option admin is not set")

// declared reads the pairs of the option declare: role and name.
func (r *Roster) declared(c *config.Config, admin config.Credential) error {
	words := c.Values.List("declare")
	for i := 0; i < len(words); i += 2 {
		if i+1 == len(words) {
			return fmt.Errorf("cannot declare %q: it needs a name", words[i])
		}
		what, name := words[i], words[i+1]
		switch what {
		case "source":
			r.add(Account{name, Source, password(c, admin, name)})
		case "subscriber", "subscribe":
			r.add(Account{name, Subscriber, password(c, admin, name)})
		case "exchange":
			r.Exchanges = append(r.Exchanges, name)
		default:
			return fmt.Errorf("cannot declare %q: it is none of env, source, subscriber and exchange", what)
		}
	}
	return nil
}

// password is what credentials.conf has for a user of the administrator's broker, by either scheme.
func password(c *config.Config, admin config.Credential, user string) config.Secret {
	for _, scheme := range []string{"amqps", "amqp"} {
		want := admin
		want.Scheme, want.User, want.Password = scheme, user, ""
		ports := []string{""}
		if scheme == admin.Scheme {
			ports = []string{admin.Port, ""}
		}
		for _, want.Port = range ports {
			if found, err := c.Credentials.Lookup(want.URL()); err == nil && found.Listed {
				return found.Password
			}
		}
	}
	return ""
}

// strength orders the roles by what they allow.
func (r Role) strength() int { return slices.Index([]Role{Subscriber, Source, Feeder, Admin}, r) }

func (r *Roster) add(a Account) {
	i := slices.IndexFunc(r.Accounts, func(x Account) bool { return x.Name == a.Name })
	switch {
	case i < 0:
		r.Accounts = append(r.Accounts, a)
	case a.Role.strength() > r.Accounts[i].Role.strength():
		r.Accounts[i].Role = a.Role
	}
}

// Has reports whether the user is known.
func (r *Roster) Has(user string) bool {
	return slices.ContainsFunc(r.Accounts, func(a Account) bool { return a.Name == user })
}

// Clients reports whether anybody besides the pump's own users is declared. Without, the
// configuration is more likely unfinished than the broker meant to be emptied.
func (r *Roster) Clients() bool {
	return slices.ContainsFunc(r.Accounts, func(a Account) bool { return a.Role == Source || a.Role == Subscriber })
}

// Leaks are pairs of users of whom the first may use what belongs to the second, because permissions
// are patterns and one name begins with the other.
func (r *Roster) Leaks() [][2]string {
	var out [][2]string
	for _, a := range r.Accounts {
		for _, b := range r.Accounts {
			if a.Name != b.Name && (a.Role == Source || a.Role == Subscriber) && strings.HasPrefix(b.Name, a.Name) {
				out = append(out, [2]string{a.Name, b.Name})
			}
		}
	}
	return out
}

// owns reports whether a name, behind one of the prefixes, is a known user's by what permissions
// allow: it begins with the user's.
func (r *Roster) owns(name string, prefixes ...string) bool {
	for _, p := range prefixes {
		rest, ok := strings.CutPrefix(name, p)
		if ok && slices.ContainsFunc(r.Accounts, func(a Account) bool { return strings.HasPrefix(rest, a.Name) }) {
			return true
		}
	}
	return false
}
