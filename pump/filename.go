package pump

import (
	"errors"
	"fmt"
	"strings"

	"srpump/post"
)

// name applies the option filename, or the second word of the accept line, to
// the name of a file (sr_options(5), filename).
func (p *Placement) name(a *post.Announcement, c *Choice, name string) (string, error) {
	option := c.FileOption
	if option == "" {
		option = c.Capture.Filename
	}
	if option == "" || option == "None" {
		return name, nil
	}
	if err := checkFilename(option); err != nil {
		return "", err
	}
	if ext := a.Header("sundew_extension"); ext != "" && !strings.Contains(name, ":") {
		name += ":" + ext
	}
	out := name
	for _, keyword := range strings.Split(option, ":") {
		key, value, _ := strings.Cut(keyword, "=")
		switch key {
		case "WHATFN":
			out, _, _ = strings.Cut(name, ":")
		case "HEADFN":
			out = headName(name)
		case "SENDER":
			out = senderName(name)
		case "NONE":
			out = fewerFields(withoutSender(name))
		case "NONESENDER":
			out = fewerFields(name)
		case "SATNET":
			out += ":" + keyword
		case "TIME":
			out = timedName(name, out, a.Time)
		case "DESTFN":
			out = p.substitute(value, a, c.Groups)
		}
	}
	if strings.ContainsAny(out, "/\x00") || out == "" || out == "." || out == ".." {
		return "", fmt.Errorf("%w: filename %q makes %.80q", post.ErrDestination, option, out)
	}
	return out, nil
}

// checkFilename refuses a filename option with a word that is no keyword.
func checkFilename(option string) error {
	if option == "" || option == "None" {
		return nil
	}
	for _, keyword := range strings.Split(option, ":") {
		switch key, _, _ := strings.Cut(keyword, "="); key {
		case "WHATFN", "HEADFN", "SENDER", "NONE", "NONESENDER", "SATNET", "TIME", "DESTFN", "rename":
		default:
			return fmt.Errorf("cannot use filename %q: %w", option, errors.New("no such keyword "+key))
		}
	}
	return nil
}

func headName(name string) string {
	name, _, _ = strings.Cut(name, ":")
	f := strings.Split(name, "_")
	return strings.Join(f[:min(2, len(f))], "_")
}

func senderName(name string) string {
	_, after, ok := strings.Cut(name, "SENDER=")
	if !ok {
		return name
	}
	sender, _, _ := strings.Cut(after, ":")
	return sender
}

func withoutSender(name string) string {
	before, _, _ := strings.Cut(name, ":SENDER=")
	return before
}

// fewerFields keeps five colon fields of six or more, or six when the fifth is one character.
func fewerFields(name string) string {
	f := strings.Split(name, ":")
	if len(f) < 6 {
		return name
	}
	if len(f[4]) == 1 {
		return strings.Join(f[:6], ":")
	}
	return strings.Join(f[:5], ":")
}

// timedName appends the announcement's time, or keeps the one name ends in.
func timedName(name, out string, at post.Timestamp) string {
	if i := strings.LastIndexByte(name, ':'); i >= 0 && len(name)-i-1 == 14 && strings.Trim(name[i+1:], "0123456789") == "" {
		return out + name[i:]
	}
	return out + ":" + at.Time().Format("20060102150405")
}
