package amqp

import (
	"context"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"srpump/pump/broker"
	"srpump/pump/broker/brokertest"
	"srpump/test/cutproxy"
	"srpump/test/rabbit"
)

func TestMain(m *testing.M) { os.Exit(rabbit.Main(m)) }

// quick reconnects soon, so that cuts do not make tests slow.
var quick = broker.Options{Name: "test", MinBackoff: 5 * time.Millisecond, MaxBackoff: 50 * time.Millisecond}

func dial(t testing.TB, url string, o broker.Options) broker.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := Open(ctx, url, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The contract holds, also while connections are cut.
func TestContract(t *testing.T) {
	node := rabbit.Start(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("", func(t *testing.T) {
		proxy := cutproxy.New(t, node.Addr())
		brokertest.Run(t, brokertest.Harness{
			Open: func(t testing.TB) broker.Conn { return dial(t, node.URLAt(proxy.Addr(), "admin"), quick) },
			Cut:  func(testing.TB) { proxy.Cut() },
		})
	})
}
