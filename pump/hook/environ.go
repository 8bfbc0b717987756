package hook

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxVariable bounds one variable of the environment: the kernel refuses longer ones, and a stranger
// must not keep a hook from being run.
const maxVariable = 32 << 10

// environment is an event as a cmd: hook finds it (sr_hooks(7), ENVIRONMENT).
func environment(e *Event) []string {
	r := show(e, nil)
	var env []string
	set := func(name, value string) {
		if value != "" && len(value) <= maxVariable && strings.IndexByte(value, 0) < 0 {
			env = append(env, name+"="+value)
		}
	}
	set("SR_EVENT", r.Event)
	set("SR_TOPIC", r.Topic)
	set("SR_PUBTIME", r.PubTime)
	set("SR_BASEURL", r.BaseURL)
	set("SR_RELPATH", r.RelPath)
	set("SR_NEW_DIR", r.NewDir)
	set("SR_NEW_FILE", r.NewFile)
	set("SR_FILE", r.File)
	set("SR_URL", r.URL)
	room := maxVariable
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		if text := fmt.Sprint(r.Headers[name]); len(text) <= room {
			room -= len(text) + len(name)
			set("SR_HEADER_"+variableName(name), text)
		}
	}
	return env
}

// variableName makes a name of an environment of any name: what is neither a letter nor a digit is _.
func variableName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)
}
