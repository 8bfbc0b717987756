package pump

import (
	"net/url"
	"strings"

	"srpump/pump/config"
	"srpump/pump/transfer/ftp"
)

// ftpOptions are what a configuration says about FTP.
func ftpOptions(c *config.Config, workers int, clear *cleartext) ftp.Options {
	return ftp.Options{
		Workers: workers, Timeout: c.Values.Duration("timeout"), Credentials: ftpLogins(c, clear),
		TLS: tlsOf(c, "ftps", "ftp").Config,
	}
}

// ftpLogins finds user, password and manner in credentials.conf; a server that is not in it is told what its URL holds.
func ftpLogins(c *config.Config, clear *cleartext) func(*url.URL) (user, password string, l ftp.Login) {
	return func(u *url.URL) (user, password string, l ftp.Login) {
		cred, ok := listedFor(c, u)
		if !ok {
			return "", "", l
		}
		if strings.EqualFold(u.Scheme, "ftp") && !cred.TLS && !cred.ProtP && cred.Password != "" {
			clear.tell(u)
		}
		return cred.User, string(cred.Password), ftp.Login{Active: cred.Active, ASCII: cred.ASCII, TLS: cred.TLS, ProtP: cred.ProtP}
	}
}
