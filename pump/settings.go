package pump

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"srpump/post"
	"srpump/pump/broker"
	"srpump/pump/config"
	"srpump/winnow"
)

// localExchange is the one everybody on a local broker shares, for it has no users.
const localExchange = "xpublic"

// postExchange is where announcements go: as configured, with post_exchange_suffix that of the
// user of the broker, xs_<user> for posters, and the shared one of a local broker.
func postExchange(c *config.Config, e endpoint) (string, error) {
	x, suffix := c.Values.String("post_exchange"), c.Values.String("post_exchange_suffix")
	switch {
	case suffix != "" && e.user != "":
		return "xs_" + e.user + "_" + suffix, nil
	case x != "":
		return x, nil
	case e.isPipe(), e.isLocal():
		return localExchange, nil
	case e.user != "":
		return "xs_" + e.user, nil
	}
	return "", fmt.Errorf("cannot tell where to announce: set post_exchange")
}

// postBaseURL is required on a broker other machines read. Elsewhere the files are on this
// host: announced by absolute path, or below post_base_dir.
func postBaseURL(c *config.Config, e endpoint) (string, error) {
	u, dir := c.Values.String("post_base_url"), c.Values.String("post_base_dir")
	switch {
	case strings.HasPrefix(u, post.LocalBase):
		return post.LocalBase, nil
	case config.Redact(u) != u:
		return "", about("post_base_url", &broker.Error{Op: "announce below", Object: config.Redact(u), Kind: errSecretURL,
			Hint: "take the password out: who fetches has it in credentials.conf, see sr_credentials(5)"})
	case u != "":
		return u, nil
	case c.Preset == config.Poll && !isLocalURL(c.Values.String("destination")):
		u, err := serverURL(c, c.Values.String("destination"))
		if err != nil {
			return "", about("destination", fmt.Errorf("cannot poll: %w", err))
		}
		return destinationBase(u), nil
	case !e.isPipe() && !e.isLocal() && c.Preset != config.Poll:
		return "", &broker.Error{Op: "announce on", Object: e.String(), Kind: errNoBaseURL,
			Hint: "set post_base_url to the URL under which others fetch the files, such as http://this.host/"}
	case dir != "":
		return post.LocalBase + strings.TrimRight(dir, "/") + "/", nil
	}
	return post.LocalBase, nil
}

var (
	errNoBaseURL = errors.New("post_base_url is not set")
	errSecretURL = errors.New("its password would stand in every announcement")
)

// newMaker reads what announcements are made with.
func newMaker(c *config.Config, e endpoint, h *Host) (post.Maker, error) {
	v := c.Values
	m := post.Maker{
		BaseDir: v.String("post_base_dir"), Prefix: v.String("post_topic_prefix"), DirsOnly: !v.Bool("post_topic_filename"),
		Rename: v.String("rename"), KeepMode: v.Bool("preserve_mode"), KeepTime: v.Bool("preserve_time"),
	}
	if v.Set("subtopic") {
		m.Subtopic = v.String("subtopic")
	}
	if fi, err := os.Stat(m.BaseDir); m.BaseDir != "" && (err != nil || !fi.IsDir()) {
		h.Log.Warn("post_base_dir is no directory", "path", m.BaseDir)
	}
	var err error
	if m.BaseURL, err = postBaseURL(c, e); err != nil {
		return m, err
	}
	if m.Headers, err = headers(c, e); err != nil {
		return m, about("header", err)
	}
	m.Strip, err = stripper(v.String("strip"))
	return m, about("strip", err)
}

// headers are those every announcement of a poster carries.
func headers(c *config.Config, e endpoint) (map[string]string, error) {
	v := c.Values
	out := make(map[string]string)
	set := func(name, value string) {
		if value != "" {
			out[name] = value
		}
	}
	set(post.HeaderToClusters, strings.Join(v.List("to"), ","))
	if out[post.HeaderToClusters] == "" {
		set(post.HeaderToClusters, e.host())
	}
	set(post.HeaderFromCluster, v.String("cluster"))
	set(post.HeaderSource, v.String("source"))
	if v.String("source") == "" {
		set(post.HeaderSource, e.user)
	}
	set(post.HeaderFlow, v.String("flow"))
	add, drop, err := headerOption(c)
	for name := range drop {
		delete(out, name)
	}
	maps.Copy(out, add)
	return out, err
}

// headerOption sorts the option header into what is added and what is taken off.
func headerOption(c *config.Config) (add map[string]string, drop map[string]bool, err error) {
	add, drop = make(map[string]string), make(map[string]bool)
	for _, h := range c.Values.List("header") {
		name, value, ok := strings.Cut(h, "=")
		switch {
		case !ok || name == "":
			return nil, nil, fmt.Errorf("cannot use header %q: it is not name=value", h)
		case value == "None" || value == "none" || value == "null":
			drop[name] = true
			delete(add, name)
		default:
			add[name] = value
			delete(drop, name)
		}
	}
	return add, drop, nil
}

// stripper makes the header rename of a poster from the option strip.
func stripper(how string) (func(string) string, error) {
	if how == "" || how == "0" {
		return nil, nil
	}
	if _, err := strconv.Atoi(how); err != nil {
		if _, err := regexp.Compile(how); err != nil {
			return nil, fmt.Errorf("cannot use strip %q: %w", how, err)
		}
	}
	return func(rel string) string {
		out, _ := new(Placement).strip(how, strings.TrimLeft(rel, "/"))
		return out
	}, nil
}

// An eventSet is what the option events lets through.
type eventSet map[string]bool

// newEvents reads the option events, also in its older spellings.
func newEvents(c *config.Config) eventSet {
	older := map[string]string{"created": "create", "deleted": "delete", "modified": "modify", "linked": "link", "moved": "move"}
	s := make(eventSet)
	for _, e := range c.Values.List("events") {
		if now, ok := older[e]; ok {
			e = now
		}
		s[e] = true
	}
	s["change"] = s["create"] || s["modify"]
	return s
}

// resets reports whether the option reset is to be followed.
func (h *Host) resets(c *config.Config) bool { return c.Values.Bool("reset") && !h.Resumes }

// openCache opens the winnowing cache of a configuration, or with reset a new one.
func openCache(c *config.Config, h *Host, mode winnow.Mode, ttl time.Duration, state string) (*winnow.Cache, error) {
	dir := filepath.Join(state, "winnow")
	if h.resets(c) {
		if err := os.RemoveAll(dir); err != nil {
			return nil, fmt.Errorf("cannot reset: %w", err)
		}
	}
	basis := map[string]winnow.Basis{"name": winnow.Name, "data": winnow.Data}[c.Values.String("suppress_duplicates_basis")]
	return winnow.Open(winnow.Options{Mode: mode, Basis: basis, TTL: ttl, Dir: dir, Logger: h.Log, Now: h.Now})
}
