package pump

import (
	"net/url"

	"srpump/pump/config"
	"srpump/pump/transfer"
)

// newTransports makes what gets files of other hosts, and what lists and changes places there, by scheme.
// Nothing is connected, nor read, before the first use. Which hosts may be asked allow says.
func newTransports(c *config.Config, h *Host, workers int, allow func(host string) bool) transfer.Set {
	o := webOptions(c, h, workers)
	o.AllowHost = allow
	web := transfer.NewHTTP(o)
	return transfer.Set{"http": web, "https": web}
}

// webOptions are what a configuration says about HTTP.
func webOptions(c *config.Config, h *Host, workers int) transfer.HTTPOptions {
	return transfer.HTTPOptions{
		Workers: workers, Timeout: c.Values.Duration("timeout"), UserAgent: "srpump/" + h.Version, Credentials: listedSecrets(c),
		TLS: transfer.TLS{Rigour: map[string]transfer.TLSRigour{"strict": transfer.TLSStrict, "lax": transfer.TLSLax}[c.Values.String("tls_rigour")]},
	}
}

// listedSecrets gives out a secret only for a host credentials.conf names.
func listedSecrets(c *config.Config) func(*url.URL) (user, password, bearer string) {
	return func(u *url.URL) (user, password, bearer string) {
		cred, err := c.Credentials.Lookup(u.Scheme + "://" + u.Host + "/")
		if err != nil || !cred.Listed {
			return "", "", ""
		}
		return cred.User, string(cred.Password), string(cred.Token)
	}
}
