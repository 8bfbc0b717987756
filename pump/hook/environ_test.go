package hook_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"srpump/pump/hook"
)

// sr_hooks(7), ENVIRONMENT: whatever an announcement says reaches a program byte by byte, and nothing else reads it.
func TestCmdEnvironmentOfHostileNames(t *testing.T) {
	b := newBed(t)
	shown := b.script("shown", "#!/bin/sh\nenv -0 >"+b.dir+"/shown.env\n")
	c := b.chain("on_file cmd:"+shown+" ${header.x-y}", "own_option $(touch "+b.dir+"/harm)")
	for _, name := range append(odd, "; touch "+b.dir+"/harm", "$(touch "+b.dir+"/harm)", "a=b\nPATH=/nowhere\nLD_PRELOAD=x", "tab\tand \r\x1b[2J") {
		e := event(name)
		e.Announcement.Headers["x-y"] = name
		e.URL = "http://h/" + name
		if ok, err := c.Run(context.Background(), e); !ok || err != nil {
			t.Fatalf("%q: %v, %v", name, ok, err)
		}
		env := strings.Split(b.read(b.dir+"/shown.env"), "\x00")
		for variable, want := range map[string]string{"SR_EVENT": "on_file", "SR_RELPATH": "a/" + name, "SR_NEW_FILE": name, "SR_NEW_DIR": "/data/a",
			"SR_FILE": "/data/a/" + name, "SR_URL": "http://h/" + name, "SR_HEADER_x_y": name, "SR_HEADER_n": "5", "PATH": os.Getenv("PATH"),
			"SR_OPT_own_option": "$(touch " + b.dir + "/harm)"} {
			if !slices.Contains(env, variable+"="+want) {
				t.Errorf("%q: %s is not %q in %q", name, variable, want, env)
			}
		}
	}
	files, err := os.ReadDir(b.dir)
	if err != nil || len(files) != 3 { // the configuration, the script, what it has written
		t.Errorf("files were made: %v, %v", files, err)
	}
}

// What the kernel takes as no argument it takes at no later time either. As a variable it is left out.
func TestCmdUnfitArguments(t *testing.T) {
	b := newBed(t)
	for what, value := range map[string]string{"a NUL": "a\x00b", "too long": strings.Repeat("x", 128<<10)} {
		e := event("f")
		e.Announcement.Headers["h"] = value
		if ok, err := b.chain("on_file cmd:true ${header.h}").Run(context.Background(), e); ok || !errors.Is(err, hook.ErrUnfit) {
			t.Errorf("%s: %v, %v", what, ok, err)
		}
		if ok, err := b.chain("on_file cmd:sh -c 'test -z \"$SR_HEADER_h\"'").Run(context.Background(), e); !ok || err != nil {
			t.Errorf("%s as a variable: %v, %v", what, ok, err)
		}
	}
}
