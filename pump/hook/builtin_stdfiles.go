package hook

import (
	"context"
	"errors"
	"os/exec"
)

// stdFiles gives the local file of each announcement to a command. Its status is the answer, as
// of a cmd:, and what it prints is logged.
type stdFiles struct {
	env     Env
	command *command
}

func newStdFiles(env Env) (Hook, error) {
	words, err := splitWords(env.Own.String("msg_stdfiles_command"))
	if err != nil {
		return nil, err
	}
	h, err := newCommand(words, env)
	if err != nil {
		return nil, err
	}
	return &stdFiles{env, h.(*command)}, nil
}

// Run runs the command for one announcement. Where there is no file it is not run.
func (s *stdFiles) Run(ctx context.Context, e *Event) (bool, error) {
	root, path, err := localFile(s.env, e)
	if err != nil {
		return false, ignoreMissing(err)
	}
	defer root.Close()
	file, err := root.Open(path)
	if err != nil {
		return false, ignoreMissing(err)
	}
	defer file.Close()
	if fi, err := file.Stat(); err != nil || !fi.Mode().IsRegular() {
		return false, err
	}
	ctx, cancel, err := s.command.begin(ctx)
	if err != nil {
		return false, err
	}
	defer cancel()
	p, err := s.command.filled(e)
	if err != nil {
		return false, err
	}
	out := newSayings(p)
	defer out.close()
	var exit *exec.ExitError
	switch err := p.once(ctx, file, out); {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return true, nil
	case errors.As(err, &exit) && exit.ExitCode() == 1:
		return false, nil
	default:
		return false, p.notRun(err)
	}
}

// Close implements Hook.
func (s *stdFiles) Close() error { return s.command.Close() }
