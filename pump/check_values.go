package pump

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"srpump/pump/config"
)

// shortExpire is the time a queue may go unread at least, lest a reboot loses announcements; below
// lowExpire reading the option has warned already.
const (
	shortExpire = time.Hour
	lowExpire   = 5 * time.Minute
)

// values finds values that are allowed and rarely meant.
func (k *check) values() {
	v := k.c.Values
	if d := v.Duration("expire"); k.c.Preset&posts == 0 && v.Set("expire") && d >= lowExpire && d < shortExpire {
		k.warnOption("expire", fmt.Sprintf("option \"expire\" is only %s: what is announced while this host is down longer is lost", d), "use 1d or more")
	}
	if v.Set("instances") && v.Int("instances") == 0 {
		k.warnOption("instances", "option \"instances\" is 0, which leaves the number to the program and stops nothing", "disable the configuration if it should not run")
	}
	k.deletes()
	k.passwords()
	for _, o := range []string{"chmod", "chmod_dir"} {
		if text := v.Text(o); v.Set(o) && v.Octal(o) != 0 && v.Octal(o) < 0o100 {
			k.warnOption(o, fmt.Sprintf("option %q is %04o, which gives the owner nothing", o, v.Octal(o)), "write all digits, as in "+padded(text))
		}
	}
	if k.c.Preset == config.Watch && len(v.List("path")) == 0 {
		k.warn(k.c.Path, 0, "no path to watch", "set path, or name directories on the command line")
	}
}

// deletes says of which files the option delete removes nothing.
func (k *check) deletes() {
	v := k.c.Values
	switch {
	case k.c.Preset&posts != 0 || !v.Bool("delete") || v.Bool("notify_only"):
	case k.c.Preset == config.Sender && v.String("base_dir") == "":
		k.warnOption("delete", "option \"delete\" removes nothing: files of this host are removed only below base_dir, which is not set", "set base_dir")
	case k.c.Preset != config.Sender && k.onlyWeb():
		k.warnOption("delete", "option \"delete\" cannot remove what is fetched by http and https", "it removes files of SFTP and FTP servers, and those of this host below base_dir")
	}
}

// onlyWeb reports whether all that is accepted is named by URLs of web servers.
func (k *check) onlyWeb() bool {
	if k.c.AcceptsUnmatched() {
		return false
	}
	other := slices.ContainsFunc(k.c.Rules, func(r config.Rule) bool {
		return r.Accept && !strings.HasPrefix(strings.TrimPrefix(r.Pattern, "^"), "http")
	})
	return !other && slices.ContainsFunc(k.c.Rules, func(r config.Rule) bool { return r.Accept })
}

// passwords finds those in URLs of hosts that files are delivered to or looked for at, which anybody reads who
// sees the configuration or the process list.
func (k *check) passwords() {
	u, err := url.Parse(k.c.Values.String("destination"))
	if err != nil || u.User == nil {
		return
	}
	if _, has := u.User.Password(); has {
		k.warnOption("destination", "option \"destination\" holds a password", "leave it out and write it, with the URL, to credentials.conf, which only you can read")
	}
}

// padded is what a mode of too few digits may have been meant to be.
func padded(mode string) string {
	for len(mode) < 3 {
		mode += "0"
	}
	return "0" + mode
}
