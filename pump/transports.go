package pump

import (
	"net"
	"net/url"
	"strings"

	"srpump/pump/config"
	"srpump/pump/transfer"
	"srpump/pump/transfer/ftp"
	"srpump/pump/transfer/sftp"
)

// newTransports makes what gets files of other hosts, and what lists and changes places there, by scheme.
// Nothing is connected, nor read, before the first use. Which hosts may be asked allow says.
func newTransports(c *config.Config, h *Host, workers int, allow func(host string) bool) transfer.Set {
	clear := &cleartext{log: h.Log}
	o := webOptions(c, h, workers, clear)
	o.AllowHost = allow
	web := transfer.NewHTTP(o)
	byFTP := ftpOptions(c, workers, clear)
	byFTP.AllowHost = allow
	files := ftp.New(byFTP)
	bySFTP := sftpOptions(c)
	bySFTP.AllowHost = allow
	return transfer.Set{"http": web, "https": web, "ftp": files, "ftps": files, "sftp": sftp.New(bySFTP)}
}

// webOptions are what a configuration says about HTTP.
func webOptions(c *config.Config, h *Host, workers int, clear *cleartext) transfer.HTTPOptions {
	return transfer.HTTPOptions{
		Workers: workers, Timeout: c.Values.Duration("timeout"), UserAgent: "srpump/" + h.Version, Credentials: listedSecrets(c, clear),
		TLS: tlsOf(c, "https"),
	}
}

// tlsOf is how servers of some schemes prove who they are, and we to them.
func tlsOf(c *config.Config, schemes ...string) transfer.TLS {
	rigours := map[string]transfer.TLSRigour{"strict": transfer.TLSStrict, "lax": transfer.TLSLax}
	return transfer.TLS{
		Rigour: rigours[c.Values.String("tls_rigour")],
		Files: func(host, port string) transfer.TLSFiles {
			for _, scheme := range schemes {
				cred, ok := listedFor(c, &url.URL{Scheme: scheme, Host: joinHost(host, port)})
				if files := (transfer.TLSFiles{CA: cred.CAFile, Cert: cred.ClientCert, Key: cred.ClientKey}); ok && files != (transfer.TLSFiles{}) {
					return files
				}
			}
			return transfer.TLSFiles{}
		},
	}
}

// joinHost is host and port as a URL has them; the port may be empty.
func joinHost(host, port string) string {
	if port == "" {
		return strings.TrimSuffix(net.JoinHostPort(host, ""), ":")
	}
	return net.JoinHostPort(host, port)
}

// listedSecrets gives out a secret only for a host credentials.conf names.
func listedSecrets(c *config.Config, clear *cleartext) func(*url.URL) (user, password, bearer string) {
	return func(u *url.URL) (user, password, bearer string) {
		cred, ok := listedFor(c, &url.URL{Scheme: u.Scheme, Host: u.Host})
		if !ok {
			return "", "", ""
		}
		if strings.EqualFold(u.Scheme, "http") && (cred.Password != "" || cred.Token != "") {
			clear.tell(u)
		}
		return cred.User, string(cred.Password), string(cred.Token)
	}
}

// listedFor is the line of credentials.conf for a server, and for the user when the URL has one.
func listedFor(c *config.Config, u *url.URL) (cred config.Credential, ok bool) {
	server := url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/"}
	if u.User != nil {
		server.User = url.User(u.User.Username())
	}
	cred, err := c.Credentials.Lookup(server.String())
	return cred, err == nil && cred.Listed
}
