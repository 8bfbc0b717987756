package hook

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"srpump/post"
	"srpump/pump/config"
)

// An accel fetches by a program what is so large, of some kinds of URL. It knows no passwords: programs find
// theirs themselves, and a list of processes shows their arguments to everybody.
type accel struct {
	*command
	program   string
	schemes   []string
	threshold int64
}

func newAccel(name string) Maker {
	return func(env Env) (Hook, error) {
		_, program, _ := strings.Cut(name, "_")
		words, err := splitWords(accelCommand(env.Own.String(name+"_command"), name))
		if err != nil {
			return nil, err
		}
		h, err := newCommand(words, env)
		if err != nil {
			return nil, err
		}
		schemes := strings.FieldsFunc(strings.ToLower(env.Own.String(name+"_protocol")), func(r rune) bool { return r == ',' || r == ' ' })
		return &accel{h.(*command), program, schemes, env.Own.Size(name + "_threshold")}, nil
	}
}

// accelCommand takes templates of v02 as well, where %s is the URL and %d the file, and programs alone.
func accelCommand(command, name string) string {
	command = strings.NewReplacer("%s", "${url}", "%d", "${file}").Replace(command)
	if strings.Contains(command, "${file}") {
		return command
	}
	b, _ := config.FindBuiltin(name)
	own, _ := b.Read(nil)
	_, arguments, _ := strings.Cut(own.String(name+"_command"), " ")
	return command + " " + arguments
}

// chooses reports whether an announced file is so large, and of a scheme the program fetches.
func (a *accel) chooses(scheme string, of *post.Announcement) bool {
	return slices.Contains(a.schemes, scheme) && max(of.Size(), 0) >= a.threshold
}

// Run fetches one file. What is not for it passes.
func (a *accel) Run(ctx context.Context, e *Event) (bool, error) {
	u, err := url.Parse(e.URL)
	if err != nil || !a.chooses(strings.ToLower(u.Scheme), e.Announcement) {
		return true, nil
	}
	asked := *e
	asked.URL = a.source(u)
	return a.command.Run(ctx, &asked)
}

// source is a URL as the program is given it.
func (a *accel) source(u *url.URL) string {
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	switch a.program {
	case "cp", "dd":
		return u.Path
	case "scp":
		return "scp://" + authority(u) + "//" + escaped(literal(strings.TrimPrefix(u.Path, "/")))
	}
	return u.String()
}

func authority(u *url.URL) string {
	if u.User != nil {
		return u.User.String() + "@" + u.Host
	}
	return u.Host
}

// literal guards what scp takes for a pattern.
func literal(path string) string {
	var b strings.Builder
	for _, c := range []byte(path) {
		if strings.IndexByte(`*?[]{}\`, c) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}

func escaped(path string) string {
	u := url.URL{Path: "/" + path}
	return u.EscapedPath()[1:]
}
