package hook

import "testing"

// A member that is null is not said (sr_hooks(7), STAGES).
func TestStageLineNull(t *testing.T) {
	l, err := parseStageLine([]byte(`{"ok":[1,2],"drop":null,"retry":null,"out":null,"for":null}`))
	if about, v := l.answer(); err != nil || len(about) != 2 || v.Answer != StageOK {
		t.Errorf("%v %v %v", about, v, err)
	}
	if l, err := parseStageLine([]byte(`{"out":"f","for":null}`)); err != nil || !l.makes() || l.For != nil {
		t.Errorf("%+v %v", l, err)
	}
}
