// Package transfertest is what every transfer.Getter, transfer.Lister and
// transfer.Writer promises, as suites that each scheme runs against its real
// server: Run, RunList and RunWrite.
package transfertest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"srpump/pump/transfer"
)

// A Harness is one scheme with a server running.
type Harness struct {
	Dir  string // the directory of this host that the server serves
	Addr string // host:port of the server; empty for a scheme without network
	// URL is the URL of a file below Dir, when the server is reached at addr.
	URL func(addr, name string) string
	// New makes the Getter to test, with a stall time-out. For RunList it is a
	// transfer.Lister too, for RunWrite a transfer.Writer.
	New func(timeout time.Duration) transfer.Getter
	// Passive says that data goes over connections of their own, as FTP's do.
	Passive bool
	// Cannot, where set, tells names the scheme cannot carry.
	Cannot func(name string) bool
}

const patience = 20 * time.Second

// check is one promise.
type check struct {
	name string
	run  func(*testing.T, *bench)
}

// Run checks what one scheme gets.
func Run(t *testing.T, h Harness) {
	h.run(t, []check{
		{"whole", whole}, {"empty", empty}, {"ranges", ranges}, {"range outside", rangeOutside},
		{"missing", missing}, {"directory", directory}, {"names", names}, {"together", together},
		{"unchanged", unchanged}, {"shrunk", shrunk}, {"grown", grown}, {"vanished", vanished}, {"replaced", replaced},
		{"cancelled before", cancelledBefore}, {"cancelled midway", cancelledMidway}, {"closed midway", closedMidway},
		{"reset", reset}, {"stalled", stalled},
	})
}

func (h Harness) run(t *testing.T, checks []check) {
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			b := &bench{Harness: h, get: h.New(patience)}
			t.Cleanup(func() {
				if err := b.get.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			})
			c.run(t, b)
		})
	}
}

// bench is a harness with a Getter for one check.
type bench struct {
	Harness
	get transfer.Getter
}

// put makes a file at the source and returns its URL.
func (b *bench) put(t *testing.T, name string, data []byte) string {
	t.Helper()
	if err := os.WriteFile(filepath.Join(b.Dir, name), data, 0o644); err != nil {
		t.Fatal(err)
	}
	return b.URL(b.Addr, name)
}

// read gets everything a request names.
func (b *bench) read(t *testing.T, r transfer.Request) ([]byte, *transfer.Body, error) {
	t.Helper()
	body, err := b.get.Get(t.Context(), r)
	if err != nil {
		checkError(t, err)
		return nil, nil, err
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err != nil {
		checkError(t, err)
	}
	return data, body, err
}

// checkError holds every failure to be an *Error that names its URL.
func checkError(t *testing.T, err error) {
	t.Helper()
	checkOp(t, err, "get")
}

func checkOp(t *testing.T, err error, op string) {
	t.Helper()
	var e *transfer.Error
	if !errors.As(err, &e) || e.Op != op || e.URL == "" {
		t.Errorf("the failure %v is no complete *transfer.Error", err)
	}
}

// fails holds a failure to its operation and class.
func fails(t *testing.T, err error, op string, class transfer.Class) {
	t.Helper()
	want(t, err, class)
	if err != nil {
		checkOp(t, err, op)
	}
}

// want holds a failure to its class.
func want(t *testing.T, err error, class transfer.Class) {
	t.Helper()
	if err == nil || transfer.ClassOf(err) != class {
		t.Errorf("got %v of class %v, want class %v", err, transfer.ClassOf(err), class)
	}
}

// pattern is n bytes of which no two blocks are alike.
func pattern(n int) []byte {
	b := make([]byte, n)
	x := uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

func same(t *testing.T, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) {
		t.Errorf("got %d bytes that are not the %d expected", len(got), len(want))
	}
}

func background(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithCancel(t.Context())
}
