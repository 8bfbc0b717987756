package manage

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Administrator is the tag of a user who may manage the broker.
const Administrator = "administrator"

// A User may log in.
type User struct {
	Name string `json:"name"`
	Tags Tags   `json:"tags"`
}

// Tags are words; older brokers send them as one text with commas.
type Tags []string

// UnmarshalJSON reads both forms.
func (t *Tags) UnmarshalJSON(b []byte) error {
	var joined string
	if err := json.Unmarshal(b, &joined); err == nil {
		*t = strings.FieldsFunc(joined, func(r rune) bool { return r == ',' || r == ' ' })
		return nil
	}
	return json.Unmarshal(b, (*[]string)(t))
}

// IsAdministrator reports whether the user may manage the broker.
func (u User) IsAdministrator() bool { return slices.Contains(u.Tags, Administrator) }

// Users are all of the broker.
func (c *Client) Users(ctx context.Context) ([]User, error) {
	return get[[]User](ctx, c, "users", "", "users")
}

// Self is the user the client logs in as.
func (c *Client) Self(ctx context.Context) (User, error) {
	return get[User](ctx, c, "the user logged in as", "", "whoami")
}

// PutUser makes a user, or gives one that exists this password and these tags.
func (c *Client) PutUser(ctx context.Context, name, password string, tags ...string) error {
	in := map[string]string{"password": password, "tags": strings.Join(tags, ",")}
	if err := c.call(ctx, http.MethodPut, []string{"users", name}, "", in, nil); err != nil {
		return fmt.Errorf("cannot set user %q: %w", name, err)
	}
	return nil
}

// DeleteUser also closes the user's connections.
func (c *Client) DeleteUser(ctx context.Context, name string) error {
	return c.remove(ctx, "user", name, "users", name)
}

// A Permission is what a user may do on the vhost: regular expressions of the names of exchanges and
// queues, none of which is anchored by itself.
type Permission struct {
	User      string `json:"user"`
	Configure string `json:"configure"`
	Write     string `json:"write"`
	Read      string `json:"read"`
}

// Permissions are those of all users on the vhost.
func (c *Client) Permissions(ctx context.Context) ([]Permission, error) {
	return get[[]Permission](ctx, c, "permissions", "", "vhosts", c.vhost, "permissions")
}

// SetPermission replaces what a user may do on the vhost.
func (c *Client) SetPermission(ctx context.Context, p Permission) error {
	in := map[string]string{"configure": p.Configure, "write": p.Write, "read": p.Read}
	if err := c.call(ctx, http.MethodPut, []string{"permissions", c.vhost, p.User}, "", in, nil); err != nil {
		return fmt.Errorf("cannot set permissions of user %q: %w", p.User, err)
	}
	return nil
}
