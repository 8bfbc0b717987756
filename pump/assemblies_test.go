package pump

import (
	"testing"

	"srpump/pump/blocks"
)

// While what there was of a file is removed, who comes for it waits until that is over, and nobody else does.
func TestEnterWaitsForRemoval(t *testing.T) {
	store, err := blocks.OpenStore(t.TempDir(), true)
	if err != nil {
		t.Fatal(err)
	}
	s := assemblies{store: store}
	old := s.enter("/a")
	s.mu.Lock()
	old.going = make(chan struct{})
	s.mu.Unlock()
	entered := make(chan *assembly)
	go func() { entered <- s.enter("/a") }()
	s.leave(s.enter("/b"))
	select {
	case <-entered:
		t.Fatal("entered what is being removed")
	default:
	}
	s.mu.Lock()
	close(old.going)
	old.going = nil
	delete(s.open, "/a")
	s.mu.Unlock()
	if fresh := <-entered; fresh == old {
		t.Error("entered what was removed")
	}
}
