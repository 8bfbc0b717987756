package sqlite

import (
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"srpump/pump/broker"
	"srpump/pump/broker/brokertest"
)

func TestMain(m *testing.M) {
	if runChild() {
		return
	}
	goleak.VerifyTestMain(m)
}

func openTest(t testing.TB, path string) broker.Conn {
	t.Helper()
	c, err := Open(t.Context(), "sqlite://"+path, broker.Options{Name: t.Name()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestContract(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "pump.db")
	brokertest.Run(t, brokertest.Harness{Open: func(t testing.TB) broker.Conn { return openTest(t, path) }})
}
