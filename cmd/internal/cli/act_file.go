package cli

import (
	"context"

	"srpump/pump/config"
)

// fileActions add, edit and remove the files of a configuration.
func fileActions(p config.Preset) []action {
	act := func(do func(*session, context.Context, []string) error) func(context.Context, *session, []string) error {
		return func(ctx context.Context, s *session, args []string) error { return do(s, ctx, args) }
	}
	out := []action{
		{"list", "[plugins]", "list configurations, and the examples add can copy", act((*session).listFiles)},
		{"add", "example ...", "copy an example, or a file, to the configurations", act((*session).addFiles)},
		{"edit", "config", "edit its file, and check it", act((*session).editFile)},
		{"enable", "config ...", "let it be started again", act((*session).enableFiles)},
		{"disable", "config ...", "keep it from being started", act((*session).disableFiles)},
		{"rename", "config new-name", "give it another name, with its state and logs", act((*session).renameFile)},
	}
	if p != config.Audit {
		out = append(out, action{"remove", "config", "delete it, with its queue and its state", act((*session).removeFile)})
	}
	if p != config.Post {
		out = append(out, action{"log", "config", "print its log as it grows", act((*session).followLog)})
	}
	return out
}
