package hook

// Builtins are the hooks that need no program, by the name a configuration calls them.
func Builtins() map[string]Maker {
	return map[string]Maker{}
}
