package hook

import (
	"context"

	"srpump/pump/config"
)

// Builtins are the hooks that need no program, by the name a configuration calls them (sr_hooks(7),
// BUILT IN). What they are called, where they work and their options are rows of config.Builtins.
func Builtins() map[string]Maker {
	out := make(map[string]Maker)
	for _, b := range config.Builtins() {
		out[b.Name] = builtin(b.Name)
	}
	return out
}

// builtin is the constructor of a hook, by its name.
func builtin(name string) Maker {
	switch name {
	case "msg_total", "msg_total_save":
		return totalsOf(name, "messages received", "msg")
	case "post_total", "post_total_save":
		return totalsOf(name, "messages posted", "msg")
	case "file_total", "file_total_save":
		return totalsOf(name, "files received", "file")
	case "file_age":
		return newFileAge
	case "msg_print_lag":
		return newPrintLag
	case "msg_delay":
		return newDelay
	case "msg_fdelay":
		return newFileDelay
	case "post_rate_limit":
		return newRateLimit
	case "msg_skip_old":
		return newSkipOld
	case "msg_delete":
		return newDelete
	case "msg_to_clusters", "msg_from_cluster", "msg_by_source", "msg_by_user":
		return routesBy(name)
	case "msg_2http":
		return newToHTTP
	case "msg_http_to_https":
		return newToHTTPS
	case "msg_download_baseurl":
		return newBaseURL
	case "msg_overwrite_sum":
		return newOverwriteSum
	case "post_override":
		return newOverride
	case "post_hour_tree":
		return newPostHourTree
	}
	return builtinForFiles(name)
}

// builtinForFiles are those that place files or do something with them.
func builtinForFiles(name string) Maker {
	switch name {
	case "msg_hour_tree":
		return newHourTree
	case "msg_rename_whatfn":
		return newWhatFn
	case "msg_replace_new_dir":
		return newReplaceDir
	case "destfn_sample":
		return newSampleName
	case "msg_stdfiles":
		return newStdFiles
	case "file_rxpipe":
		return newPipe
	case "part_clamav_scan":
		return newScan
	case "root_chown":
		return newChown
	}
	return newAccel(name)
}

// A step is a built-in hook that holds nothing.
type step func(ctx context.Context, e *Event) (bool, error)

// Run implements Hook.
func (s step) Run(ctx context.Context, e *Event) (bool, error) { return s(ctx, e) }

// Close implements Hook.
func (s step) Close() error { return nil }

// changing is a step that lets everything pass.
func changing(change func(*Event)) Hook {
	return step(func(_ context.Context, e *Event) (bool, error) {
		change(e)
		return true, nil
	})
}

// choosing is a step that drops what pass refuses.
func choosing(pass func(*Event) bool) Hook {
	return step(func(_ context.Context, e *Event) (bool, error) { return pass(e), nil })
}
