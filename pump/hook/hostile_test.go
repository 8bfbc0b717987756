package hook_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"srpump/pump/hook"
)

// loop is a co-process that does what is said for each line.
func (b *bed) loop(name, body string) string {
	return "on_message exec:" + b.script(name, "#!/bin/sh\nwhile read -r line; do\n"+body+"\ndone\n")
}

// What no hook may answer is an error of the event it is about, and the next one is served.
func TestAnswersThatAreRefused(t *testing.T) {
	for name, answer := range map[string]string{
		"garbage": "what?", "another file": `{"file":"/etc/passwd"}`, "an id it was not given": `{"id":999}`, "broken": `{"headers":`,
		"a long header": `{"headers":{"h":"` + strings.Repeat("x", 300) + `"}}`, "a climbing directory": `{"new_dir":"/data/../etc"}`,
		"a directory outside": `{"new_dir":"/etc"}`, "a name with a slash": `{"new_file":"a/b"}`, "no name": `{"new_file":""}`,
		"a climbing path": `{"relpath":"../x"}`, "a bad time": `{"pubtime":"noon"}`, "a bad sum": `{"headers":{"sum":","}}`,
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			c := b.chain(b.loop("h", "case $line in *bad*) printf '%s\\n' '"+answer+"';; *) echo true;; esac"))
			e := event("bad")
			if ok, err := c.Run(context.Background(), e); ok || !errors.Is(err, hook.ErrAnswer) {
				t.Errorf("%v, %v", ok, err)
			}
			if e.Dir != "/data/a" || e.File != "bad" || e.Announcement.Path != "a/bad" {
				t.Errorf("it was changed all the same: %+v", e)
			}
			if ok, err := c.Run(context.Background(), event("good")); !ok || err != nil {
				t.Errorf("then %v, %v", ok, err)
			}
		})
	}
}

// A co-process that hangs is ended with what it started; the one behind it in the queue is given
// again to the next.
func TestExecThatHangs(t *testing.T) {
	b := newBed(t)
	c := b.chain(b.loop("h", "case $line in *bad*) sleep 1000;; *) echo true;; esac"), "hook_timeout 1")
	var over sync.WaitGroup
	over.Go(func() {
		if _, err := c.Run(context.Background(), event("bad")); err == nil || !strings.Contains(err.Error(), "no answer in time") {
			t.Errorf("error is %v", err)
		}
	})
	for i := range 5 {
		over.Go(func() {
			if ok, err := c.Run(context.Background(), event(fmt.Sprint(i))); !ok || err != nil {
				t.Errorf("%d: %v, %v", i, ok, err)
			}
		})
	}
	over.Wait()
}

func TestCmdThatHangs(t *testing.T) {
	b := newBed(t)
	c := b.chain("on_message cmd:sh -c 'sleep 1000; true'", "hook_timeout 1")
	if _, err := c.Run(context.Background(), event("f")); err == nil || !strings.Contains(err.Error(), "no answer in time") {
		t.Errorf("error is %v", err)
	}
}

// One that dies in the middle is started again and given what it had; of what kills it each time
// nothing is known, and it is not done.
func TestExecThatDies(t *testing.T) {
	b := newBed(t)
	c := b.chain(b.loop("h", "case $line in *bad*) exit 7;; *once*) test -e "+b.dir+"/x || { touch "+b.dir+"/x; exit 7; };; esac; echo true"))
	for name, want := range map[string]bool{"once": true, "good": true, "bad": false} {
		if ok, err := c.Run(context.Background(), event(name)); ok != want || (err == nil) != want {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
	}
	if !strings.Contains(b.log.String(), "hook ended, starting it again") {
		t.Error("nothing is said of it")
	}
	if _, err := b.chain("on_message exec:true").Run(context.Background(), event("f")); err == nil {
		t.Error("one that dies at once has answered")
	}
}

// A flood of answers, a line without end, and a flood of complaints.
func TestFloods(t *testing.T) {
	b := newBed(t)
	for _, flood := range []string{"yes", "tr '\\000' x </dev/zero"} {
		c := b.chain("on_message exec:" + b.script("flood", "#!/bin/sh\n"+flood+"\n"))
		if ok, err := c.Run(context.Background(), event("f")); ok || err == nil {
			t.Errorf("%s: %v, %v", flood, ok, err)
		}
	}
	c := b.chain(b.loop("loud", `i=0; while test $i -lt 500; do printf 'forged\033[2J line\n' >&2; i=$((i+1)); done; echo true`))
	if ok, err := c.Run(context.Background(), event("f")); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if n := strings.Count(b.log.String(), "hook said"); n > 200 || strings.Contains(b.log.String(), "\033") {
		t.Errorf("%d lines in the log", n)
	}
}

// Answers with an id may come in any order.
func TestAnswersInAnyOrder(t *testing.T) {
	b := newBed(t)
	c := b.chain("on_message exec:" + b.script("h", `#!/bin/sh
read -r one; read -r two
id() { echo "$1" | sed 's/.*"id":\([0-9]*\).*/\1/'; }
what() { case $1 in *drop*) echo false;; *) echo true;; esac; }
echo "{\"id\":$(id "$two"),\"ok\":$(what "$two")}"
echo "{\"id\":$(id "$one"),\"ok\":$(what "$one")}"
cat >/dev/null
`))
	var over sync.WaitGroup
	for name, want := range map[string]bool{"keep": true, "drop": false} {
		over.Go(func() {
			if ok, err := c.Run(context.Background(), event(name)); ok != want || err != nil {
				t.Errorf("%s: %v, %v", name, ok, err)
			}
		})
	}
	over.Wait()
}

// Passwords of an announcement are shown to no hook, and an answer that repeats what was shown
// changes nothing.
func TestPasswordsAreMasked(t *testing.T) {
	b := newBed(t)
	for _, line := range []string{"on_message exec:tee -a " + b.dir + "/shown", "on_message cmd:sh -c 'env >>" + b.dir + "/shown' ${baseurl}"} {
		e := event("f")
		e.Announcement.Base = "http://u:s3cret@h/"
		if ok, err := b.chain(line).Run(context.Background(), e); !ok || err != nil || e.Announcement.Base != "http://u:s3cret@h/" {
			t.Errorf("%v, %v: %q", ok, err, e.Announcement.Base)
		}
	}
	if shown := b.read(b.dir + "/shown"); strings.Contains(shown, "s3cret") || !strings.Contains(shown, "SR_BASEURL") {
		t.Errorf("shown was %q", shown)
	}
}

// Nor are those of a command anywhere in what is said of it.
func TestSecretsOfCommandsAreMasked(t *testing.T) {
	b := newBed(t)
	for _, line := range []string{"on_message cmd:sh -c 'exit 7' http://u:s3cret@h/", "on_message exec:false --password s3cret", "on_message cmd:/nowhere " + strings.Repeat("x", 60) + "http://u:s3cret@h/"} {
		s, err := b.hooks(line)
		if err == nil {
			_, err = s.At(hook.OnMessage).Run(context.Background(), event("f"))
			s.Close()
		}
		if err == nil || strings.Contains(err.Error()+b.log.String(), "s3cr") {
			t.Errorf("%v\n%s", err, b.log)
		}
	}
}

// BenchmarkExec is what a co-process costs for each event, with as many in hand as a flow has.
func BenchmarkExec(b *testing.B) {
	s, err := (&bed{T: new(testing.T), dir: b.TempDir(), log: new(logged)}).hooks("on_message exec:cat")
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	b.SetParallelism(64)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if ok, err := s.At(hook.OnMessage).Run(context.Background(), event("f")); !ok || err != nil {
				b.Error(ok, err)
			}
		}
	})
}
