package pump

import (
	"net/url"

	"srpump/pump/config"
	"srpump/pump/transfer/sftp"
)

// sftpOptions are what a configuration says about SFTP; the rest is in ~/.ssh.
func sftpOptions(c *config.Config) sftp.Options {
	return sftp.Options{Timeout: c.Values.Duration("timeout"), Credentials: sftpLogins(c), Home: c.Home}
}

// sftpLogins finds user, password and private key in credentials.conf. A server that is not in it is
// told what its URL holds, and keys and agent serve.
func sftpLogins(c *config.Config) func(*url.URL) (user, password, keyFile string) {
	return func(u *url.URL) (user, password, keyFile string) {
		cred, ok := listedFor(c, u)
		if !ok {
			return "", "", ""
		}
		return cred.User, string(cred.Password), cred.KeyFile
	}
}
