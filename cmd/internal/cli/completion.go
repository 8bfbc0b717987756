package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"srpump/pump/config"
	"srpump/pump/daemon"
)

// The words of srpump for shells: the script each loads, and what the script asks.
const (
	completionWord = "completion" // completion bash|zsh|fish prints the script
	completeWord   = "complete"   // complete COMMAND WORD ... prints what the last word may become
)

// complete answers for a shell; it is false for what is no question of one.
func complete(args []string, env config.Env, out io.Writer) bool {
	switch {
	case len(args) == 2 && args[0] == completionWord:
		script := completionScript(args[1])
		io.WriteString(out, script)
		return script != ""
	case len(args) >= 3 && args[0] == completeWord:
		for _, w := range candidates(args[1], args[2:], env) {
			fmt.Fprintln(out, w)
		}
		return true
	}
	return false
}

// candidates are the words the last of a command line may become, from the tables of options
// and actions and the files of the user.
func candidates(command string, words []string, env config.Env) (out []string) {
	all, current := words[:len(words)-1], words[len(words)-1]
	p, known := preset(command)
	switch {
	case command == hostCommand && len(all) == 0:
		out = hostWords()
	case command == hostCommand:
		out = everyName(env)
	case !known:
		return nil
	case strings.HasPrefix(current, "-"):
		out = optionWords(p)
	case len(all) > 0 && strings.HasPrefix(all[len(all)-1], "-") && valueWords(all[len(all)-1]) != nil:
		out = valueWords(all[len(all)-1])
	default:
		out = argumentWords(p, all, env)
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(w string) bool { return !strings.HasPrefix(w, current) })
}

func hostWords() (out []string) {
	for _, a := range hostActions() {
		out = append(out, a.name)
	}
	return out
}

// everyName is every component/configuration of the host.
func everyName(env config.Env) (out []string) {
	for _, p := range Commands() {
		for _, n := range names(p, env, false) {
			out = append(out, p.String()+"/"+n)
		}
	}
	return out
}

func optionWords(p config.Preset) (out []string) {
	for _, o := range config.Table() {
		if o.Applies(p) {
			out = append(out, "-"+o.Name)
		}
	}
	return out
}

// valueWords are the choices of an option; nil when it has none.
func valueWords(option string) (out []string) {
	name := strings.ReplaceAll(strings.TrimLeft(option, "-"), "-", "_")
	for _, o := range config.Table() {
		if o.Kind != config.KindChoice || o.Name != name && !slices.Contains(o.Aliases, name) {
			continue
		}
		for _, c := range o.Choices {
			first, _, _ := strings.Cut(c, "|")
			out = append(out, first)
		}
	}
	return out
}

// argumentWords are actions as long as none was given, and what may stand behind one.
func argumentWords(p config.Preset, before []string, env config.Env) (out []string) {
	given := ""
	for _, w := range before {
		if a, ok := findAction(p, w); ok && given == "" {
			given = foreground
			if a != nil {
				given = a.name
			}
		}
	}
	switch given {
	case "":
		out = append(names(p, env, false), foreground)
		for _, a := range actions(p) {
			out = append(out, a.name)
		}
		return out
	case "retry":
		if last := before[len(before)-1]; last == given {
			return retryVerbs()
		}
	case "add":
		return (&session{preset: p}).exampleNames()
	}
	return names(p, env, given == "enable")
}

// names are the configurations of a component that are enabled, or those that are not.
func names(p config.Preset, env config.Env, disabled bool) (out []string) {
	all, _ := daemon.List(env, p.String()) // without a directory there is nothing to offer
	for _, l := range all {
		if l.Disabled == disabled {
			out = append(out, l.Name)
		}
	}
	return out
}

// completionScript has a shell ask this program; what it does not know are files.
func completionScript(shell string) string {
	commands := []string{hostCommand}
	for _, p := range Commands() {
		commands = append(commands, p.Program())
	}
	list := strings.Join(commands, " ")
	switch shell {
	case "bash":
		return `_srpump() {
	local IFS=$'\n'
	COMPREPLY=($(srpump complete "${COMP_WORDS[0]##*/}" "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _srpump ` + list + "\n"
	case "zsh":
		return "#compdef " + list + `
_srpump() {
	local -a found
	found=("${(@f)$(srpump complete "${words[1]:t}" "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	if [[ -n "${found[*]}" ]]; then compadd -a found; else _files; fi
}
compdef _srpump ` + list + "\n"
	case "fish":
		var b strings.Builder
		b.WriteString("function __srpump\n\tset -l words (commandline -opc)\n\tsrpump complete $words[1] $words[2..-1] (commandline -ct) 2>/dev/null\nend\n")
		for _, c := range commands {
			fmt.Fprintf(&b, "complete -c %s -a '(__srpump)'\n", c)
		}
		return b.String()
	}
	return ""
}
