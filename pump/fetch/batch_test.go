package fetch

import (
	"errors"
	"fmt"
	"os"
	"testing"
)

// A batch so big that its filesystem is synced as a whole asks for each file itself what became of its bytes: what is
// wrong with one of them is told to that one, and not hidden by the sync of all.
func TestEachFileOfABatchIsAskedFor(t *testing.T) {
	tree := openTree(t, TreeOptions{})
	var batch []*op
	for n := range wholeFromFiles {
		data := []byte(fmt.Sprint("data", n))
		s, err := Fetch(t.Context(), job(t, tree, fmt.Sprint("f", n), data))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Discard)
		batch = append(batch, &op{tree: tree, rel: s.rel, verb: "write", step: &renameStep{s}})
	}
	last := batch[len(batch)-1]
	last.step.data().f.Close() // as unwell as a file can be made here
	syncData(batch)
	for _, o := range batch {
		if errors.Is(o.err, os.ErrClosed) || (o.err != nil) != (o == last) {
			t.Errorf("%s: %v", o.rel, o.err)
		}
	}
}
