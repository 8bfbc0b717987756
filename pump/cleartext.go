package pump

import (
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
)

// cleartext warns, once for each server, of secrets that go to it without TLS, where everybody on the way reads them.
type cleartext struct {
	log  *slog.Logger
	told sync.Map // schemes and hosts
}

// tell is told of each secret that is about to be sent. Within this host nobody listens.
func (c *cleartext) tell(u *url.URL) {
	name := u.Hostname()
	if ip := net.ParseIP(name); name == "localhost" || ip != nil && ip.IsLoopback() {
		return
	}
	scheme := strings.ToLower(u.Scheme)
	if _, known := c.told.LoadOrStore(scheme+"://"+u.Host, true); !known {
		c.log.Warn("password sent in the clear", "scheme", scheme, "host", u.Host, "hint", "use "+scheme+"s, if the server has it")
	}
}
