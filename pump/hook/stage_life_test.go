package hook_test

import (
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"srpump/pump/hook"
)

// stage is a stage of one filter, a script, whose outputs come by the channel.
func (b *bed) stage(script string, o hook.StageOptions) (*hook.Stage, chan *hook.StageOutput) {
	b.Helper()
	p, err := hook.NewProgram(b.script("filter", "#!/bin/sh\n"+script), b.dir)
	if err != nil {
		b.Fatal(err)
	}
	p.Name, p.Log = "stage", slog.New(slog.NewTextHandler(b.log, nil))
	made := make(chan *hook.StageOutput, 16)
	o.Program, o.Output = p, func(m *hook.StageOutput) { made <- m }
	s := hook.NewStage(o)
	b.Cleanup(s.Close)
	return s, made
}

// given gives a stage an input, and returns what is said of it.
func given(s *hook.Stage, path string) chan hook.Verdict {
	over := make(chan hook.Verdict, 2)
	s.Give(&hook.StageInput{Path: path, Size: -1, Done: func(v hook.Verdict) { over <- v }})
	return over
}

// What a filter that was killed had made is nothing to the next one that is given the same: neither that it could
// not be announced, nor that it was.
func TestStageOutputOfFormerLife(t *testing.T) {
	for _, fate := range []error{errors.New("refused"), nil} {
		b := newBed(t)
		s, made := b.stage(`read -r line
id=${line#*'"id":'} id=${id%%,*}
test -e `+b.dir+`/life || { touch `+b.dir+`/life; echo '{"out":"first","for":'$id'}'; kill -9 $$; }
echo '{"out":"second","for":'$id'}'
echo '{"ok":'$id'}'
cat >/dev/null`, hook.StageOptions{Attempts: 5})
		over := given(s, "/in")
		first, second := <-made, <-made
		first.Done(fate)
		select {
		case v := <-over:
			t.Fatalf("it has ended by an output of another: %+v", v)
		default:
		}
		second.Done(nil)
		if v := <-over; v.Answer != hook.StageOK || v.Err != nil {
			t.Errorf("what became of it is %+v", v)
		}
		if !second.Again || second.Path != "second" {
			t.Errorf("announced is %+v", second)
		}
	}
}

// A filter that holds inputs and does not look at the end of its own is ended after a while, and what it held is
// given up when that happens each time.
func TestStageDeafToTheEnd(t *testing.T) {
	b := newBed(t)
	s, _ := b.stage("echo '{\"version\":1,\"window\":5}'; touch "+b.dir+"/up; exec sleep 1000", hook.StageOptions{Attempts: 2, Ending: 200 * time.Millisecond})
	over := given(s, "/in")
	stop := make(chan struct{})
	var flushing sync.WaitGroup
	flushing.Go(func() { // as a flow does at the end of a pipe
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			s.Flush()
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	})
	if v := <-over; v.Answer != hook.StageFault || !strings.Contains(v.Why, "its input has ended") {
		t.Errorf("what became of it is %+v", v)
	}
	close(stop)
	flushing.Wait()
}
